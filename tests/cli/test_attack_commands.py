"""`elasticgnn attack` and `inspect` on small files, by hand and by machine."""

import csv
import json
import re
from dataclasses import replace

import pytest
import torch

from attack.small_task import own_options, planted_task
from elasticgnn.attack import load_perturbation
from elasticgnn.attack.victim import Victim
from elasticgnn.data import read_task, share_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model, trained_on
from elasticgnn.training.model.preparation import prepared_own


@pytest.mark.parametrize("method", ["metattack", "random", "dice"])
def test_attack_saves_flips_that_can_be_loaded(method, planted, attack_cli, tmp_path):
    path = tmp_path / "flips.json"
    words = ["attack", *own_options(planted), "--method", method, "--rate", "0.05"]
    words += ["-o", path, "--json"]
    facts = json.loads(attack_cli(*words).stdout)
    found = load_perturbation(path)
    assert found.method == method == facts["method"]
    assert len(found) == facts["flips"] == facts["inserted"] + facts["removed"] > 0


def test_attack_speaks_plainly_without_json(planted, attack_cli):
    words = ("--flips", "2", "--method", "prbcd", "--block", "100")
    printed = attack_cli("attack", *own_options(planted), *words).stdout
    assert "prbcd on" in printed
    assert "flips (" in printed


def test_single_nodes_are_attacked_and_victims_may_train_on(planted, attack_cli, tmp_path):
    words = ["attack", *own_options(planted), "--method", "grbcd", "--flips", "2"]
    words += ["--block", "2000"]
    words += ["--targets", "n5", "--around", "--poison", "-o", tmp_path / "flips.json"]
    attack_cli(*words)
    found = load_perturbation(tmp_path / "flips.json")
    names = read_task(planted / "edges.csv", planted / "features.csv").node_ids
    assert all(names.index("n5") in pair for pair in found.pairs.tolist())
    assert found.settings["poisoning.steps"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "prbcd", "--targets", "5"], "targets must be ids .*, got '5'"),
        (["--method", "prbcd", "--targets", "n1,n999"], "targets must be ids .*, got 'n999'"),
        (["--method", "dice", "--targets", "1"], "targets must be given to"),
        (["--method", "metattack", "--poison"], "--around and --poison must be given to"),
    ],
)
def test_aims_that_make_no_sense_are_refused(words, message, planted, attack_cli):
    with pytest.raises(ValueError, match=message):
        attack_cli("attack", *own_options(planted), *words)


def test_nodes_of_a_data_set_are_attacked_by_number(attack_cli, monkeypatch, tmp_path):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    words = ["attack", "planted", "--method", "grbcd", "--flips", "1", "--block", "500"]
    attack_cli(*words, "--targets", "5", "--around", "-o", tmp_path / "flips.json")
    assert 5 in load_perturbation(tmp_path / "flips.json").pairs[0].tolist()
    with pytest.raises(ValueError, match=r"targets must be numbers in 0\.\.59, .*got '60'"):
        attack_cli(*words, "--targets", "60")


@pytest.mark.parametrize("method", ["metattack", "grbcd"])
def test_flips_on_own_files_do_not_depend_on_the_unit_of_features(
    method, planted, other_unit, attack_cli, tmp_path
):
    """Features are prepared as `train` does it."""
    words = ["--method", method, "--flips", "3", "-o", tmp_path / "flips.json"]
    words += ["--block", "500"] if method == "grbcd" else []
    found = []
    for folder in (planted, other_unit):
        attack_cli("attack", *own_options(folder), *words)
        found.append(load_perturbation(tmp_path / "flips.json"))
    assert found[0].loss == found[1].loss
    assert torch.equal(found[0].pairs, found[1].pairs)


def test_the_model_of_a_file_is_attacked_as_it_was_fed(planted, other_unit, attack_cli, tmp_path):
    """Its columns by name, prepared as for its training, and its classes."""
    parts = [other_unit / f"{name}.csv" for name in ("edges", "features", "labels")]
    task, generator = read_task(*parts), torch.Generator().manual_seed(0)
    ready, preparation = prepared_own(task)
    model = make_model("gcn", ready, generator)
    fit(model, ready, share_split(task.labels, generator), TrainingPlan(epochs=60), generator)
    trained = replace(trained_on(task, model, ModelSettings("gcn")), preparation=preparation)
    trained.save(tmp_path / "m.st")
    right = (trained.predict(task).label == task.labels).float().mean()
    text = [line.split(",") for line in (other_unit / "features.csv").read_text().splitlines()]
    reversed_columns = "\n".join(",".join([row[0], *row[:0:-1]]) for row in text)
    (tmp_path / "features.csv").write_text(reversed_columns)
    words = [
        own_options(other_unit)[0],
        own_options(tmp_path)[1],
        own_options(other_unit)[2],
        "--victim",
        tmp_path / "m.st",
    ]
    every = ",".join(task.node_ids)
    words += ["--method", "prbcd", "--flips", "1", "--targets", every, "--loss", "cross_entropy"]
    output = attack_cli("attack", *words, "--attack-epochs", "1", "--block", "10", "--json").stdout
    victim = Victim(model, ready, torch.arange(task.num_nodes), loss="cross_entropy")
    assert right > 0.9
    assert json.loads(output)["loss_before"] == pytest.approx(
        float(victim.loss(ready.graph).detach()), abs=1e-4
    )


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("metattack", "--victim=gcn"),
        ("dice", "--loss=cross_entropy"),
        ("pgd", "--block=9"),
        ("prbcd", "--generations=3"),
        ("eva", "--attack-epochs=3"),
        ("eva", "--objective=self"),
    ],
)
def test_options_without_effect_are_refused(method, option, planted, attack_cli):
    with pytest.raises(ValueError, match=rf"{option.split('=')[0]} must be given to .* only"):
        attack_cli("attack", *own_options(planted), "--method", method, option)


def test_attack_refuses_unknown_methods(planted, attack_cli):
    with pytest.raises(ValueError, match="method must be one of"):
        attack_cli("attack", *own_options(planted), "--method", "other")


@pytest.fixture(scope="module")
def model_file(planted):
    task = read_task(planted / "edges.csv", planted / "features.csv", planted / "labels.csv")
    settings = ModelSettings("elastic", lambda1=1.0)
    generator = torch.Generator().manual_seed(0)
    model = make_model(settings, task, generator)
    fit(model, task, share_split(task.labels, generator), TrainingPlan(epochs=30), generator)
    trained_on(task, model, settings).save(planted / "model.safetensors")
    return planted / "model.safetensors"


def test_inspect_ranks_every_edge(planted, model_file, attack_cli, tmp_path):
    words = ["inspect", model_file, planted / "edges.csv", *own_options(planted)[1:]]
    facts = json.loads(attack_cli(*words, "-o", tmp_path / "ranked.csv", "--json").stdout)
    with (tmp_path / "ranked.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == facts["edges"]
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["source"].startswith("n")
    assert rows[0]["source_class"].startswith("c")
    assert rows[0]["score"] == str(facts["worst"][0]["score"])


def test_inspect_drops_the_worst_and_measures_a_gcn(planted, model_file, attack_cli, tmp_path):
    words = ["inspect", model_file, planted / "edges.csv", *own_options(planted)[1:], "--drop", "5"]
    printed = attack_cli(*words, "--cleaned", tmp_path / "cleaned.csv").stdout
    before = len((planted / "edges.csv").read_text().splitlines())
    assert len((tmp_path / "cleaned.csv").read_text().splitlines()) == before - 5
    assert "GCN without the 5 worst" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cleaned", "c.csv"], "--drop must be given with --cleaned, got c.csv alone"),
        (
            ["--drop", "5", "--cleaned", "x.csv", "-o", "x.csv"],
            "output and cleaned must be two files, got x.csv for both",
        ),
    ],
)
def test_a_cleaned_graph_without_a_place_of_its_own_is_refused(
    words, message, planted, model_file, attack_cli, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        attack_cli("inspect", model_file, planted / "edges.csv", *own_options(planted)[1:], *words)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "random", "--flips", "5000"], r"\d+ flips were made of 5000 that the budget"),
        (["--method", "dice", "--rate", "0.0001"], "0 flips were made of 0 that the budget allows"),
    ],
)
def test_less_than_the_budget_is_noted(words, message, planted, attack_cli):
    result = attack_cli("attack", *own_options(planted), *words, "--json")
    assert re.search(f"note: {message}", result.stderr)
    facts = json.loads(result.stdout)
    assert facts["flips"] < 5000
    assert facts["allowed"] == (5000 if "5000" in words else 0)


def test_cleaned_graph_is_written_beside_the_ranking(planted, model_file, attack_cli, tmp_path):
    words = ["inspect", model_file, planted / "edges.csv", *own_options(planted)[1:], "--drop", "5"]
    facts = json.loads(attack_cli(*words, "-o", tmp_path / "ranked.csv", "--json").stdout)
    assert facts["cleaned"] == str(tmp_path / "ranked_cleaned.csv")
    assert (tmp_path / "ranked_cleaned.csv").exists()


def test_inspect_without_edges_takes_the_data_that_the_model_was_trained_on(
    model_file, attack_cli, monkeypatch
):
    with pytest.raises(ValueError, match="edges must be given for a model"):
        attack_cli("inspect", model_file)
    name = read_model_name(model_file)
    monkeypatch.setattr("elasticgnn.data.catalogue", lambda: {name: None})
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    facts = json.loads(attack_cli("inspect", model_file, "--json").stdout)
    assert facts["edges"] == planted_task().graph.num_edges


def read_model_name(path):
    from elasticgnn.training import TrainedModel

    return TrainedModel.load(path).data["name"]


def test_inspect_grades_itself_on_known_flips(planted, model_file, attack_cli, tmp_path):
    words = ["attack", *own_options(planted), "--method", "dice", "--rate", "0.2"]
    attack_cli(*words, "-o", tmp_path / "flips.json")
    words = ["inspect", model_file, planted / "edges.csv", *own_options(planted)[1:], "--json"]
    facts = json.loads(attack_cli(*words, "--attack", tmp_path / "flips.json").stdout)
    assert facts["inserted"] > 0
    assert 0.5 < facts["roc_area"] <= 1


@pytest.mark.parametrize("method", ["eva", "prbcd"])
def test_a_victim_without_edges_is_refused(method, planted, attack_cli):
    words = ["--method", method, "--victim", "mlp", "--flips", "2"]
    with pytest.raises(ValueError, match="victim must use the edges to be attacked"):
        attack_cli("attack", *own_options(planted), *words)
