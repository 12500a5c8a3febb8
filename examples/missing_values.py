"""Readings on a ring of stations, a third of them missing: the penalty fills them in."""

import torch

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.solver import minimise

generator = torch.Generator().manual_seed(0)
ring = Graph.from_edges([(i, (i + 1) % 60) for i in range(60)], normalization="none")
truth = torch.where(torch.arange(60) < 30, 20.0, 5.0).double()[:, None]
readings = truth + 0.5 * torch.randn(60, 1, generator=generator, dtype=torch.float64)
there = torch.rand(60, generator=generator) > 0.33
solution = minimise(readings, ring, ElasticPenalty(2.0, 0.0), data_weight=there.double())
print(solution.summary())
gaps = (solution.value - truth)[~there].abs().max()
print(f"{int((~there).sum())} gaps filled, largest error {float(gaps):.2f}")
assert solution.certified
