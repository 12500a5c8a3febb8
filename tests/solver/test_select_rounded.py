"""The choice of a strength for rounded data."""

import numpy as np
import torch

from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import cross_validate, minimise, noise_grid
from solver_signals import chain


def risk(value: torch.Tensor, truth: np.ndarray) -> float:
    return float(np.mean((value.numpy() - truth) ** 2))


def test_steins_estimate_does_not_take_equal_neighbours_for_free_of_noise():
    truth = np.repeat([1.0, 3.0, 2.0], 100)
    for seed in range(3):
        noise = 0.2 * np.random.default_rng(seed).normal(size=300)
        x, graph = torch.from_numpy(np.round(2 * (truth + noise)) / 2), chain(300)
        grid = noise_grid(x, graph, torch.ones(300))
        generator = torch.Generator().manual_seed(seed)
        chosen = cross_validate(x, graph, grid, criterion="sure", generator=generator)
        every = [minimise(x, graph, ElasticPenalty(one, 0.0)).value for one in grid]
        least = min(risk(value, truth) for value in every)
        assert chosen.lambda1 > min(grid)
        assert risk(chosen.solution.value, truth) < 3 * least
