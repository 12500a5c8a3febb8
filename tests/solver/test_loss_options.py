"""Losses by name, and options that do not go with them."""

import pytest
import torch

from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import (
    minimise,
)
from elasticgnn.solver.losses import as_loss
from solver_signals import chain


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "cubic"}, "loss must be one of"),
        ({"loss": "poisson:2"}, "loss must be one of"),
        ({"loss": "huber:x"}, "loss must have a number"),
        ({"loss": "huber:-1"}, "threshold must be a number > 0"),
        ({"loss": "quantile:1"}, "level must lie in"),
        ({"loss": "logistic"}, r"x must lie in \[0, 1\]"),
        ({"loss": "poisson"}, "x must be >= 0"),
        ({"lower": 1.0, "upper": 1.0}, "lower must be < upper"),
        ({"lower": torch.zeros(3)}, "lower must be a number or have shape"),
        ({"sparsity": -1.0}, "sparsity must be a finite number >= 0"),
        ({"row_strength": torch.ones(3)}, r"row_strength must have shape \(19,\)"),
        ({"channel_strength": torch.zeros(1)}, "channel_strength must be finite and > 0"),
        ({"loss": "huber", "method": "ascent"}, "method must not be 'ascent'"),
    ],
)
def test_bad_options_are_refused(options, words):
    x = 3 * torch.arange(20.0, dtype=torch.float64).sin()
    with pytest.raises(ValueError, match=words):
        minimise(x, chain(20), ElasticPenalty(0.5, 0.0), **options)


def test_labels_of_one_kind_have_no_answer_unless_bounded():
    x, penalty = torch.ones(5, dtype=torch.float64), ElasticPenalty(0.5, 0.0)
    with pytest.raises(ValueError, match="from above in every component"):
        minimise(x, chain(5), penalty, loss="logistic")
    bounded = minimise(x, chain(5), penalty, loss="logistic", lower=-5.0, upper=5.0)
    assert bounded.certified
    assert float(bounded.value.min()) == pytest.approx(5.0, abs=1e-3)


def test_a_gradient_through_another_loss_is_refused():
    x = torch.arange(5.0, dtype=torch.float64).requires_grad_()
    with pytest.raises(ValueError, match="where a gradient is asked for"):
        minimise(x, chain(5), ElasticPenalty(0.5, 0.0), loss="huber")


@pytest.mark.parametrize("text", ["squared", "huber:1.5", "quantile:0.9", "logistic", "poisson"])
def test_losses_have_names(text):
    assert as_loss(text).name == text.partition(":")[0]
