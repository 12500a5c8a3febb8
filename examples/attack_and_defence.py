"""A model attacked through its own edge gradient, and the same flips against no edges at all."""

import torch

from elasticgnn.attack import AttackBudget, attack
from elasticgnn.data import block_model, per_class_split
from elasticgnn.training import TrainingPlan, fit, make_model, predict

generator = torch.Generator().manual_seed(0)
task = block_model([80, 80], generator, inside=0.08, between=0.01, signal=0.4)
split = per_class_split(task.labels, generator, train_per_class=15, val_per_class=15)
model = make_model("elastic", task, generator)
fit(model, task, split, TrainingPlan(epochs=60), generator)

flips = attack(task, split, AttackBudget(rate=0.1), "prbcd", model, generator)
attacked = flips.apply_to(task)  # all that were found: at most 10 % of the edges
for name, graph in (("clean", task.graph), ("attacked", attacked.graph)):
    guess = predict(model, task.features, graph).label
    right = (guess[split.test] == task.labels[split.test]).float().mean()
    print(f"{name}: test accuracy {float(right):.2f}")
