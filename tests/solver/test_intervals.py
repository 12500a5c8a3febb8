"""Intervals of the levels of pieces: their coverage by simulation, and what they refuse."""

import math

import pytest
import torch

from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.piece_intervals import piece_intervals
from solver_signals import chain


def test_intervals_cover_the_mean_of_the_truth_as_often_as_they_say():
    truth = torch.tensor([0.0, 1.0, -1.0], dtype=torch.float64).repeat_interleave(20)
    covered = total = 0
    generator = torch.Generator().manual_seed(0)
    for _ in range(150):
        x = truth + 0.5 * torch.randn(60, generator=generator, dtype=torch.float64)
        found = piece_intervals(
            x, chain(60), ElasticPenalty(0.8, 0.0), 0.5, probability=0.9, generator=generator
        )
        sums = torch.zeros(len(found.size), dtype=torch.float64)
        mean = sums.index_add(0, found.pieces, truth) / found.size
        inside = (found.low[:, 0] <= mean) & (mean <= found.high[:, 0])
        covered, total = covered + int(inside.sum()), total + len(mean)
    assert total > 600
    # pieces of one signal are independent: the share has a standard error below 0.012
    assert covered / total == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / total))


def test_pieces_without_values_have_no_interval():
    x = torch.tensor([0.0, 0.1, 5.0, 5.1], dtype=torch.float64)
    graph, seen = chain(4), torch.tensor([1.0, 1.0, 1.0, 0.0])
    found = piece_intervals(
        x,
        graph,
        ElasticPenalty(0.2, 0.0),
        0.1,
        data_weight=seen,
        generator=torch.Generator().manual_seed(0),
    )
    assert float(found.size.sum()) == 3
    assert bool((found.low < found.high)[found.size > 0].all())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": 0.0}, "sigma must be a number > 0"),
        ({"probability": 1.0}, r"probability must lie in \(0, 1\)"),
        ({"share": 0.0}, r"share must lie in \(0, 1\)"),
    ],
)
def test_bad_settings_are_refused(options, message):
    settings = {"sigma": 1.0} | options
    with pytest.raises(ValueError, match=message):
        piece_intervals(
            torch.zeros(3),
            chain(3),
            ElasticPenalty(1.0, 0.0),
            generator=torch.Generator(),
            **settings,
        )
