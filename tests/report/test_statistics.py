"""Means, intervals, paired differences, verdicts."""

import math

import numpy as np
import pytest
from scipy import stats

from elasticgnn.experiment import summarize
from elasticgnn.experiment.spec import Published, Tolerance
from elasticgnn.report.statistics import is_within, paired, verdict


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(80, 2, 10)
    summary = summarize(values.tolist())
    low, high = stats.t.interval(0.95, 9, values.mean(), stats.sem(values))
    assert (summary.low, summary.high) == pytest.approx((low, high))
    assert summary.deviation == pytest.approx(values.std(ddof=1))


def test_one_run_has_no_interval():
    summary = summarize([3.0])
    assert (summary.mean, summary.count) == (3.0, 1)
    assert all(math.isnan(value) for value in (summary.deviation, summary.low, summary.high))


def test_nothing_has_no_mean():
    with pytest.raises(ValueError, match="values must hold at least one number"):
        summarize([])


def test_a_paired_difference_sees_what_the_spread_of_splits_hides():
    splits = [70.0, 80.0, 75.0, 85.0]
    better = [value + 0.5 for value in splits]
    difference = paired(better, splits)
    assert difference.low > 0.4
    assert summarize(better).low < summarize(splits).high


def test_pairs_must_match():
    with pytest.raises(ValueError, match="zip"):
        paired([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("mean", "std", "word"),
    [
        (81.6, 1.0, "within"),
        (80.5, 0.1, "within"),  # half a point is wider than 2 deviations
        (79.4, 0.1, "below"),
        (82.1, 1.0, "above"),
        (80.6, None, "above"),
        (79.5, None, "within"),
    ],
)
def test_a_verdict_allows_for_the_wider_of_both_margins(mean, std, word):
    assert verdict(mean, Published(80.0, std), Tolerance(2.0, 0.5)) == word


def test_no_floor_is_wider_than_half_a_point():
    with pytest.raises(ValueError, match=r"points must be in \[0, 0.5\], got 1.5"):
        Tolerance(2.0, 1.5)


def test_one_deviation_is_less_than_two():
    assert is_within(81.0, Published(80.0, 1.0), 1.0, 0.5)
    assert not is_within(81.5, Published(80.0, 1.0), 1.0, 0.5)
    assert is_within(81.5, Published(80.0, 1.0), 2.0, 0.5)
