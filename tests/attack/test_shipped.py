"""The flips that come with the package fit the bundled Cora and do their work offline."""

from importlib import import_module
from itertools import combinations
from pathlib import Path

import pytest
import torch

from elasticgnn.attack import shipped, shipped_names
from elasticgnn.attack.perturbation import component_task
from elasticgnn.data import load, share_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model

shipped_module = import_module("elasticgnn.attack.shipped")  # the name alone is the function


@pytest.fixture(scope="module")
def cora():
    return load("cora")


METATTACK = [name for name in shipped_names() if "-metattack-" in name]
EVASION = [name for name in shipped_names() if "-metattack-" not in name]


@pytest.mark.parametrize("name", EVASION)
def test_evasion_flips_are_what_their_name_says(name, cora):
    data, method, victim, percent, seed = name.split("-")
    found, component = shipped(name), component_task(cora)
    assert (found.task, found.method, found.seed) == (data, method, int(seed))
    assert victim in ("gcn", "elastic")
    assert len(found) == int(int(percent) / 100 * component.graph.num_edges + 1e-9)
    drawn = share_split(component.labels, torch.Generator().manual_seed(int(seed)))
    assert torch.equal(found.split.test, drawn.test)
    graph = found.apply(component.graph)
    degree = torch.bincount(torch.cat((graph.tail, graph.head)), minlength=graph.num_nodes)
    assert int(degree.min()) >= 1


def test_there_are_several_evasion_attacks_victims_and_budgets():
    parts = [name.split("-") for name in EVASION]
    for place, wanted in ((1, {"eva", "prbcd"}), (2, {"gcn", "elastic"}), (3, {"5", "25"})):
        assert {part[place] for part in parts} == wanted


def test_a_damaged_file_is_refused(monkeypatch, tmp_path):
    for path in (Path(shipped_module.__file__).parent / "flips").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    damaged = tmp_path / "cora-metattack-1.json"
    damaged.write_text(damaged.read_text().replace("[1", "[2", 1))
    monkeypatch.setattr(shipped_module, "files", lambda package: tmp_path.parent)
    monkeypatch.setattr(shipped_module, "FOLDER", tmp_path.name)
    assert len(shipped("cora-metattack-0")) > 1000
    with pytest.raises(ValueError, match="another checksum"):
        shipped("cora-metattack-1")


@pytest.mark.parametrize("name", METATTACK)
def test_shipped_flips_change_a_quarter_of_the_component(name, cora):
    found = shipped(name)
    attacked = found.apply_to(cora)
    assert attacked.num_nodes == 2485
    assert len(found) == int(0.25 * 5069)
    assert found.method == "metattack"
    assert attacked.split_rule == "fixed"
    assert attacked.split.sizes[0] == pytest.approx(248, abs=4)


def test_there_are_several_attacks_and_they_differ():
    assert len(METATTACK) >= 3
    flips = [set(map(tuple, shipped(name).pairs.tolist())) for name in METATTACK]
    for one, other in combinations(flips, 2):
        assert len(one & other) < 0.5 * len(one)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="name must be one of"):
        shipped("other")


@pytest.mark.slow
def test_gcn_loses_a_quarter_of_its_accuracy_at_twenty_percent(cora):
    found, accuracy = shipped(), []
    for rate in (0, 0.2):
        task = found.apply_to(cora, rate)
        generator = torch.Generator().manual_seed(0)
        model = make_model(ModelSettings("gcn", hidden_channels=64), task, generator)
        plan = TrainingPlan(epochs=100)
        accuracy.append(fit(model, task, task.split, plan, generator).test_accuracy)
    assert accuracy[0] > 0.78
    assert accuracy[1] < 0.63  # the published graph at this rate leaves 60 %
