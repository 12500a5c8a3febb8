"""Eight runs with eight strengths, trained together on one graph; validation chooses."""

import torch

from elasticgnn.data import load, paper_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import Run, TrainingPlan, fit_population

task = load("cora")
split = paper_split(task, torch.Generator().manual_seed(0))
strengths = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 9.0]
runs = [Run(split, seed=0, lambda1=strength, lambda2=3.0) for strength in strengths]
histories = fit_population(task, runs, ModelSettings("elastic"), TrainingPlan(epochs=30))
for strength, history in zip(strengths, histories, strict=True):
    print(f"lambda1 = {strength}: validation {history.val_accuracy:.3f}")
assert max(history.val_accuracy for history in histories) > 0.6
