"""Settings and grids: one name for one training, and nothing lost on the way to disk."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.space import Rung, SearchPlan, expand

numbers = st.floats(0, 100, allow_nan=False)


@given(lambda1=numbers, lambda2=numbers | st.just(math.inf), steps=st.integers(0, 50))
def test_a_setting_survives_the_way_through_json(lambda1, lambda2, steps):
    setting = Setting(lambda1=lambda1, lambda2=lambda2, steps=steps)
    assert Setting.from_json(setting.to_json()) == setting


@pytest.mark.parametrize(("alpha", "lambda2"), [(0, math.inf), (0.1, 9.0), (0.5, 1.0), (1.0, 0.0)])
def test_alpha_becomes_lambda2_without_lambda1(alpha, lambda2):
    setting = Setting.from_json({"alpha": alpha, "lambda1": 3.0})
    assert (setting.lambda1, setting.lambda2) == (0.0, lambda2)
    assert setting.alpha == pytest.approx(alpha)


def test_without_lambda1_both_norms_are_one_setting():
    grid = [{"norm": ["l1", "l21"], "lambda1": [0.0, 3.0], "lambda2": 3.0}]
    assert len(list(expand({}, grid))) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"steps": -1}, "steps must be >= 0, got -1"),
        ({"norm": "l7"}, "norm must be one of"),
        ({"learning_rate": 0}, "learning_rate must be > 0"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\)"),
        ({"lambda2": float("nan")}, "lambda2 must be >= 0, got nan"),
        ({"alpha": 1.5}, r"alpha must be in \[0, 1\], got 1.5"),
        ({"lamda1": 1.0}, "setting must have names of"),
    ],
)
def test_a_setting_outside_its_range_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Setting.from_json(values)


def test_a_search_plan_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="keep and runs must be >= 1"):
        Rung(0, 1)
    with pytest.raises(ValueError, match="growing numbers of runs"):
        SearchPlan("halving", (Rung(4, 3), Rung(2, 3)))
    with pytest.raises(ValueError, match="rungs must be given for a search by halving, got none"):
        SearchPlan("halving")


def test_attention_dropout_is_written_only_where_it_is_used():
    assert "attention_dropout" not in Setting().to_json()
    used = Setting(attention_dropout=0.5)
    assert Setting.from_json(used.to_json()) == used
    assert "attention dropout 0.5" in used.label()
    with pytest.raises(ValueError, match="attention_dropout must be in"):
        Setting(attention_dropout=1.0)
