"""Proposals: such as the best ones, never twice, the same for the same seed."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from elasticgnn.nn import ModelSettings
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.tuning.outcome import Outcome
from elasticgnn.training.tuning.proposals import (
    any_values,
    nearness,
    propose,
    space_of,
    value_of,
    with_values,
)

START = Candidate("elastic", ModelSettings(lambda1=1.0, lambda2=1.0))


def measured(candidate, mean):
    return Outcome(candidate, (mean,), np.zeros(0, dtype=np.int64), np.zeros((0, 2)), 1)


@pytest.mark.parametrize("name", ["elastic", "appnp", "mlp", "gcn", "sage"])
def test_proposals_are_new_and_of_the_family(name):
    first = Candidate(name, ModelSettings(name), hops=2)
    found = [measured(first, 0.5)]
    for round_ in range(5):
        more = propose(found, np.random.default_rng(round_), 6)
        assert len(set(more)) == 6
        assert not set(more) & {outcome.candidate for outcome in found}
        for candidate in more:
            assert replace(candidate, settings=first.settings, plan=first.plan) == first
            assert with_values(first, values_of(candidate)) == candidate
        found += [measured(candidate, 0.1) for candidate in more]


def values_of(candidate):
    return {name: value_of(candidate, name) for name in space_of(candidate)}


def test_values_of_the_best_are_proposed_most():
    space, rng, found = space_of(START), np.random.default_rng(0), []
    for k in range(40):  # a small dropout is good, and nothing else is of importance
        values = {**any_values(space, rng), "dropout": space["dropout"][k % 4]}
        found.append(measured(with_values(START, values), 0.9 - values["dropout"]))
    more = [c.settings.dropout for c in propose(found, np.random.default_rng(1), 100)]
    assert more.count(0.0) > 60
    assert more.count(0.2) > more.count(0.8)
    assert more.count(0.8) > 0  # drawn anywhere


def test_few_outcomes_do_not_narrow_the_search():
    found = [measured(START, 0.5), measured(with_values(START, {"lambda1": 3.0}), 0.6)]
    more = propose(found, np.random.default_rng(0), 200)
    for name, values in space_of(START).items():
        counts = [sum(value_of(c, name) == value for c in more) for value in values]
        assert min(counts) > 0.4 * 200 / len(values)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0, [0, 0, 0.4, 1, 0.4, 0]), (0.0, [1, 0.4, 0, 0, 0, 0]), (6.0, [0, 0, 0, 0, 0.4, 1])],
)
def test_a_value_speaks_for_those_beside_it(value, expected):
    np.testing.assert_allclose(nearness(value, space_of(START)["lambda1"]), expected)


def test_a_value_between_two_speaks_for_both():
    between = nearness(0.3, (0.05, 0.1, 0.2, 0.5))  # a third of the way from 0.2 to 0.5
    assert between[2] > between[3] > between[1] > between[0] == 0
    assert nearness("l1", ("l21", "l1")).tolist() == [0.0, 1.0]


def test_the_order_of_what_was_found_is_of_no_importance():
    found = [measured(with_values(START, {"lambda1": x}), 0.3 + x / 100) for x in (0.1, 1.0, 3.0)]
    found.append(measured(with_values(START, {"steps": 3}), found[-1].mean))  # a tie
    one = propose(found, np.random.default_rng(7), 8)
    assert one == propose(found[::-1], np.random.default_rng(7), 8)
    assert one != propose(found, np.random.default_rng(8), 8)


def test_a_family_that_is_tried_out_has_no_proposals():
    first = Candidate("gcn", ModelSettings("gcn"))
    space = space_of(first)
    every = (dict(zip(space, values, strict=True)) for values in product(*space.values()))
    found = [measured(with_values(first, values), 0.5) for values in every]
    assert propose(found, np.random.default_rng(0), 4) == []


def test_the_loss_of_numbers_is_a_setting_of_theirs_alone():
    assert "loss" not in space_of(START)
    more = propose([measured(START, 0.5)], np.random.default_rng(0), 60, of_numbers=True)
    assert {candidate.plan.loss for candidate in more} == {"squared", "huber"}


def worth(candidate):
    """An invented score with one best place and settings that depend on each other."""
    s, plan = candidate.settings, candidate.plan
    closeness = -abs(np.log((s.lambda1 + 0.05) / 3.05)) - abs(np.log((s.lambda2 + 0.05) / 0.15))
    closeness -= 3 * abs(s.dropout - 0.2) * (2 if s.steps == 10 else 1)
    return closeness + (s.norm == "l1") - abs(np.log10(plan.weight_decay + 1e-6) + 4.3)


def searched(seed, trials, draw):
    rng, found = np.random.default_rng(seed), [measured(START, worth(START))]
    while len(found) < trials:
        found += [measured(candidate, worth(candidate)) for candidate in draw(found, rng)]
    return max(outcome.mean for outcome in found)


def test_the_search_finds_better_settings_than_as_many_draws_from_anywhere():
    space = space_of(START)

    def anywhere(found, rng):
        return [with_values(START, any_values(space, rng))]

    near = [searched(k, 41, lambda found, rng: propose(found, rng, 4)) for k in range(10)]
    random = [searched(k, 41, anywhere) for k in range(10)]
    assert np.mean(near) > np.mean(random) + 0.3
