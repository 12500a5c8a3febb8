"""From rows to outcomes: means, worst cases, and seeds that were not attacked."""

from dataclasses import replace

import torch

from attack.small_task import planted_task
from by_mode import by_mode
from elasticgnn.robustness import outcomes
from elasticgnn.robustness.outcome import table
from elasticgnn.robustness.presence import as_presence
from elasticgnn.robustness.store import Row


def test_features_as_presence_are_zero_and_one():
    task = planted_task()
    doubled = replace(task, features=task.features.row_normalized())
    assert torch.equal(as_presence(doubled).features.to_dense(), task.features.to_dense())
    dense = replace(task, features=3 * task.features.to_dense())
    assert torch.equal(as_presence(dense).features, task.features.to_dense())


def test_outcome_of_rows_by_hand():
    rows = [
        Row("evasion", 0, 0.0, "none", "", "", {"a": 0.9}),
        Row("evasion", 0, 0.1, "prbcd", "a", "itself", {"a": 0.7}),
        Row("evasion", 0, 0.1, "prbcd", "b", "itself", {"a": 0.6}),
        Row("evasion", 0, 0.2, "prbcd", "a", "itself", {"a": 0.68}),
        Row("evasion", 0, 0.2, "prbcd", "b", "itself", {"a": 0.65}),
    ]
    found = by_mode(outcomes(rows))
    assert found["a", "prbcd", "adaptive", 0.1] == (0.7,)
    assert found["a", "prbcd", "transfer", 0.1] == (0.6,)
    assert found["a", "prbcd", "worst", 0.2] == (0.6,)  # the smaller budget did better


def test_worst_is_never_above_clean():
    rows = [
        Row("poisoning", 0, 0.0, "none", "", "", {"a": 0.8}),
        Row("poisoning", 0, 0.1, "random", "", "", {"a": 0.9}),
    ]
    found = by_mode(outcomes(rows))
    assert found["a", "random", "worst", 0.1] == (0.8,)  # an attacker may flip nothing
    assert found["a", "random", "transfer", 0.1] == (0.9,)


def test_a_seed_that_was_not_attacked_at_a_rate_does_not_count_there():
    rows = [
        Row("evasion", 0, 0.1, "prbcd", "a", "itself", {"a": 0.7}),
        Row("evasion", 0, 0.2, "prbcd", "a", "itself", {"a": 0.5}),
        Row("evasion", 1, 0.1, "prbcd", "a", "itself", {"a": 0.8}),
    ]
    found = by_mode(outcomes(rows))
    assert found["a", "prbcd", "adaptive", 0.1] == (0.7, 0.8)
    assert found["a", "prbcd", "adaptive", 0.2] == (0.5,)


def interrupted() -> list[Row]:
    """Seed 0 is complete, seed 1 went through one of two models at 20 %, EvA has one seed."""
    return [
        Row("evasion", seed, rate, "prbcd", source, "itself", {"a": left, "b": left})
        for seed, rate, source, left in [
            *((0, 0.1, "a", 0.7), (0, 0.1, "b", 0.6), (0, 0.2, "a", 0.5), (0, 0.2, "b", 0.4)),
            *((1, 0.1, "a", 0.7), (1, 0.1, "b", 0.6), (1, 0.2, "a", 0.55)),
        ]
    ] + [Row("evasion", 0, 0.1, "eva", "a", "itself", {"a": 0.3, "b": 0.3})]


def test_a_seed_that_lacks_an_attack_at_a_rate_does_not_count_there():
    found = by_mode(outcomes(interrupted()))
    assert found["b", "prbcd", "worst", 0.1] == (0.6, 0.6)
    assert found["b", "prbcd", "worst", 0.2] == (0.4,)  # 0.55 would be the worst of one model's
    assert found["a", "prbcd", "adaptive", 0.2] == (0.5, 0.55)  # through itself both are complete
    assert found["a", "all", "worst", 0.1] == (0.3,)
    assert found["a", "all", "worst", 0.2] == (0.3,)  # EvA had no row at this rate for anybody


def test_one_seed_alone_is_compared_with_its_other_rates():
    rows = [row for row in interrupted() if row.seed == 1]
    found = by_mode(outcomes(rows))
    assert found["b", "prbcd", "worst", 0.1] == (0.6,)
    assert ("b", "prbcd", "worst", 0.2) not in found


def test_ready_made_graphs_have_other_names_for_every_seed():
    rows = [
        Row("evasion", seed, 0.1, "shipped", "", f"graph-{seed}", {"a": 0.7}) for seed in (0, 1)
    ]
    assert by_mode(outcomes(rows))["a", "shipped", "worst", 0.1] == (0.7, 0.7)


def test_cost_stands_beside_accuracy():
    rows = [
        Row("evasion", 0, 0.0, "none", "", "", {"a": 0.9}, 0, 0.1, {"a": 4.0}),
        Row("evasion", 0, 0.1, "prbcd", "a", "itself", {"a": 0.7}, 5, 2.0),
        Row("evasion", 0, 0.1, "prbcd", "a", "convex", {"a": 0.6}, 5, 3.0),
        Row("evasion", 1, 0.1, "prbcd", "a", "itself", {"a": 0.7}, 5, 3.0),
        Row("evasion", 1, 0.1, "prbcd", "a", "convex", {"a": 0.7}, 5, 4.0),
    ]
    found = {(one.mode, one.rate): one.seconds for one in outcomes(rows)}
    assert found == {("clean", 0.0): 4.0, ("adaptive", 0.1): 6.0, ("worst", 0.1): 6.0}
    assert table(outcomes(rows))[0].split()[-1] == "seconds"
    assert table(outcomes(rows))[-1].split()[-1] == "6.0"
