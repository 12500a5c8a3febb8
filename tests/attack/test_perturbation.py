"""Perturbations as records: applied, stored, refused; and the attacks that need no model."""

import json

import numpy as np
import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded
from elasticgnn.attack import AttackBudget, Constraints, attack, load_perturbation
from elasticgnn.attack.constraints import DegreeTest, PowerLaw
from elasticgnn.graph import Graph


@pytest.fixture(scope="module")
def task():
    return planted_task()


@pytest.fixture(scope="module")
def found(task):
    return attack(task, planted_split(task), AttackBudget(rate=0.3), "dice", None, seeded(4))


def test_saved_perturbation_comes_back_equal(found, tmp_path):
    found.save(tmp_path / "flips.json")
    back = load_perturbation(tmp_path / "flips.json")
    assert torch.equal(back.pairs, found.pairs)
    assert torch.equal(back.split.train, found.split.train)
    for name in ("fingerprint", "method", "seed", "loss", "settings", "task"):
        assert getattr(back, name) == getattr(found, name)


def test_file_is_small_and_plain_json(found, tmp_path):
    found.save(tmp_path / "flips.json")
    text = (tmp_path / "flips.json").read_text()
    assert json.loads(text)["method"] == "dice"
    assert len(text) < 30 * len(found) + 1200


def test_flips_of_another_graph_are_refused(found):
    with pytest.raises(ValueError, match="graph must be the one that was attacked"):
        found.apply(planted_task(seed=9).graph)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "elasticgnn perturbation 1"}'])
def test_other_files_are_refused(text, tmp_path):
    (tmp_path / "flips.json").write_text(text)
    with pytest.raises(ValueError, match=r"flips\.json must"):
        load_perturbation(tmp_path / "flips.json")


def test_upto_takes_a_number_or_a_share_of_the_edges(found, task):
    by_number = found.apply(task.graph, 5)
    assert by_number == task.graph.with_edges_flipped(found.pairs[:5])
    tenth = int(0.1 * task.graph.num_edges)
    assert found.apply(task.graph, 0.1) == found.apply(task.graph, tenth)
    assert found.apply(task.graph, 0) == task.graph
    with pytest.raises(ValueError, match="upto must be at most"):
        found.apply(task.graph, len(found) + 1)


def test_inserted_edges_are_those_absent_before(found, task):
    attacked = found.apply(task.graph)
    mask = found.inserted(task.graph)
    before = set(zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True))
    edges = zip(attacked.tail.tolist(), attacked.head.tolist(), strict=True)
    assert mask.tolist() == [edge not in before for edge in edges]


def test_dice_deletes_within_and_adds_between(found, task):
    edges = set(zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True))
    removed = [pair for pair in map(tuple, found.pairs.tolist()) if pair in edges]
    added = [pair for pair in map(tuple, found.pairs.tolist()) if pair not in edges]
    assert abs(len(removed) - len(added)) <= 1
    assert all(task.labels[i] == task.labels[j] for i, j in removed)
    assert all(task.labels[i] != task.labels[j] for i, j in added)


def test_random_flips_only_insert(task):
    noise = attack(task, planted_split(task), AttackBudget(edges=50), "random", None, seeded(0))
    assert noise.apply(task.graph).num_edges == task.graph.num_edges + 50


def test_full_graph_has_nothing_left_to_insert():
    task = planted_task(num_nodes=12, num_classes=2)
    every = AttackBudget(edges=10_000)
    noise = attack(task, planted_split(task), every, "random", None, seeded(0))
    assert noise.apply(task.graph).num_edges == 66


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "budget must be one of rate or edges"),
        ({"rate": 0.1, "edges": 3}, "budget must be one of rate or edges"),
        ({"rate": -0.1}, "rate must be a number >= 0"),
        ({"rate": float("nan")}, "rate must be a number >= 0"),
        ({"edges": -1}, "edges must be a whole number >= 0"),
        ({"edges": 2.5}, "edges must be a whole number >= 0, got 2.5"),
        ({"rate": "0.1"}, "rate must be a number >= 0, got '0.1'"),
    ],
)
def test_bad_budgets_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        AttackBudget(**arguments)


def test_a_budget_may_be_a_number_of_numpy():
    assert AttackBudget(edges=np.int64(3)).edges == 3
    assert AttackBudget(rate=np.float32(0.5)).rate == 0.5


def test_unknown_method_is_refused(task):
    with pytest.raises(ValueError, match="method must be one of"):
        attack(task, planted_split(task), AttackBudget(edges=1), "other", None, seeded(0))


def log_likelihood(degrees):
    """Of the fitted power law, straight from its density on degrees >= 2 (d0 = 3/2)."""
    large = degrees[degrees >= 2]
    slope = len(large) / np.log(large / 1.5).sum()
    return float(np.log(slope * 1.5**slope * large ** -(slope + 1.0)).sum())


@pytest.mark.parametrize("step", [1, -1])
def test_degree_test_equals_the_likelihood_ratio_by_definition(step, task):
    degrees = (task.graph.degree - 1).long().numpy()
    tried = DegreeTest(PowerLaw.of(degrees), 0.01)
    for i, j in [(0, 1), (5, 17), (30, 2)]:
        changed = degrees.copy()
        changed[[i, j]] += step
        both = np.concatenate((degrees, changed))
        ratio = 2 * (log_likelihood(degrees) + log_likelihood(changed) - log_likelihood(both))
        for threshold in (0.999 * ratio, 1.001 * ratio):
            tried = DegreeTest(PowerLaw.of(degrees), threshold)
            allowed = tried.allows(degrees, degrees[[i]], degrees[[j]], step)
            assert bool(allowed[0, 0]) == (ratio < threshold)


def test_strict_degree_test_leaves_fewer_flips(task):
    split, budget = planted_split(task), AttackBudget(edges=100)
    strict = attack(
        task, split, budget, "random", None, seeded(0), settings=Constraints(degree_test=0.03)
    )
    assert 0 < len(strict) < 50


@pytest.mark.parametrize(("rate", "flips"), [(0.29, 29), (0.155, 15), (0.0, 0), (1.0, 100)])
def test_a_budget_is_rounded_down_but_not_by_the_rounding_of_a_product(rate, flips):
    path = torch.stack([torch.arange(100), torch.arange(1, 101)])
    graph = Graph.from_edge_index(path, 101, undirected=True)
    assert AttackBudget(rate=rate).flips(graph) == flips
