"""What `train` says of a comparison of models: errors, intervals, and what they allow to say."""

from types import SimpleNamespace

import pytest

from elasticgnn.cli.train_tuned import summary_lines
from elasticgnn.training.tuning.leaderboard import Entry, Estimate, Leaderboard


def summary_of(metric, value, low, high, majority, gain=None, unit=None, coverage=0.9):
    reached = Estimate(value, low, high, 40)
    board = Leaderboard(
        metric=metric,
        entries=(Entry("gcn", None, value, 0.1, 3, reached, folds=4),),
        winner=SimpleNamespace(unit=unit),
        estimate=reached,
        majority=majority,
        graph_gain=gain and Estimate(*gain, 40),
        calibration_error=None if unit else 0.02,
        coverage=coverage,
        coverage_range=(0.8, 1.0),
        report={"mae": 0.3},
        seconds=1.0,
    )
    return "\n".join(summary_lines(board))


@pytest.mark.parametrize(("metric", "unit"), [("logloss", None), ("mae", (0.0, 1.0))])
def test_errors_are_shown_without_a_sign_and_the_smaller_end_first(metric, unit):
    text = summary_of(metric, -0.21, -0.621, -0.0, -0.638, (0.371, -0.234, 0.922), unit)
    assert f"{metric}, within the known nodes:" in text
    assert "0.21 (0 to 0.621)" in text
    assert f"{metric} 0.21 (95 % between 0 and 0.621)" in text
    assert "the graph may help: +0.371 (-0.234 to +0.922)" in text
    assert "-0.21" not in text


def test_an_r2_below_zero_keeps_its_sign():
    assert "-0.100 (-0.400 to 0.200)" in summary_of("r2", -0.1, -0.4, 0.2, 0.0, unit=(0.0, 1.0))


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        ((0.2, 0.1, 0.3), "the graph helps: +20 points"),
        ((0.2, -0.1, 0.3), "the graph may help: +20 points"),
        ((-0.03, -0.3, 0.2), "the graph is not seen to help: -3 points"),
        ((-0.2, -0.3, -0.1), "the graph does not help: -20 points"),
        ((0.0, 0.0, 0.0), "the graph is not seen to help: +0 points"),
    ],
)
def test_the_graph_is_said_to_do_what_its_interval_shows(gain, words):
    assert words in summary_of("auc", 0.9, 0.8, 1.0, 0.5, gain)


@pytest.mark.parametrize(
    ("value", "low", "warning"),
    [
        (0.9, 0.8, ""),
        (
            0.537,
            0.177,
            "WARNING: 40 nodes do not show that the best model is of use: always naming",
        ),
        (0.5, 0.4, "WARNING: the best model has learned nothing of use: always naming"),
    ],
)
def test_a_model_that_may_be_no_better_than_the_majority_is_warned_of(value, low, warning):
    text = summary_of("auc", value, low, 0.95, 0.5)
    assert ("WARNING" in text) is bool(warning)
    assert warning in text


@pytest.mark.parametrize(("unit", "what"), [(None, "sets"), ((0.0, 1.0), "intervals")])
@pytest.mark.parametrize(("coverage", "warned"), [(0.8, False), (0.79, True), (1.0, False)])
def test_sets_that_hold_too_little_are_warned_of(unit, what, coverage, warned):
    metric = "r2" if unit else "auc"
    text = summary_of(metric, 0.9, 0.8, 0.95, 0.5, unit=unit, coverage=coverage)
    assert (f"WARNING: {what} for 90 % hold only 79.0 %" in text) is warned
