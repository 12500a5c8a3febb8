"""Training curves and the solver's gap, written for TensorBoard while they happen."""

import torch

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.data import load, paper_split
from elasticgnn.solver import minimise
from elasticgnn.tracking import TensorBoardWriter, together
from elasticgnn.training import TrainingPlan, fit, make_model

reported: list[str] = []


def count(run, step, values):
    """A callback is anything with this signature."""
    reported.append(run)


task, generator = load("cora"), torch.Generator().manual_seed(0)
split = paper_split(task, generator)
model = make_model("elastic", task, generator)
chain = Graph.from_edges([(k, k + 1) for k in range(199)], normalization="none")
noisy = torch.randn(200, 1, generator=generator, dtype=torch.float64)
with TensorBoardWriter("runs") as writer:
    callback = together(count, writer)
    fit(model, task, split, TrainingPlan(epochs=10), generator, callback=callback)
    minimise(noisy, chain, ElasticPenalty(1.0, 0.0), callback=callback)
print(reported.count("fit"), "epochs reported; now: tensorboard --logdir runs")
