"""The commands train, predict and doctor, as a person uses them."""

import csv
import json

import pytest
import torch

from command_calls import run
from elasticgnn.attack.shipped import shipped
from elasticgnn.data import Split, block_model, load
from elasticgnn.data.splits import draw_splits
from elasticgnn.training import TrainedModel
from training_task import small_task

QUICK = ["--epochs", "4", "--splits", "2"]


@pytest.fixture
def own_files(tmp_path):
    """Edges with string ids, and the classes of every third node; no features."""
    task = small_task()
    edges, labels = tmp_path / "edges.csv", tmp_path / "labels.csv"
    pairs = zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True)
    edges.write_text("source,target\n" + "".join(f"p{a},p{b}\n" for a, b in pairs))
    joined = set(task.graph.tail.tolist()) | set(task.graph.head.tolist())
    known = [i for i in sorted(joined) if i % 7 in (0, 3)]
    named = "".join(f"p{i},team {task.labels[i]}\n" for i in known)
    labels.write_text("node,label\n" + named)
    return edges, labels


def test_train_on_bundled_cora_says_how_accurate_it_is(capsys, tmp_path):
    assert run("train", *QUICK, "-o", tmp_path / "m.safetensors") == 0
    printed = capsys.readouterr().out
    assert "elastic on cora: test accuracy" in printed
    assert "over 2 splits" in printed
    assert TrainedModel.load(tmp_path / "m.safetensors").data["name"] == "cora"


def test_train_prints_one_json_object_and_nothing_else(capsys):
    assert run("train", "cora", "--model", "mlp", *QUICK, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["settings"]["name"] == "mlp"
    assert len(facts["runs"]) == 2
    assert 0 <= facts["test"]["mean"] <= 1


def test_every_result_comes_with_its_split_and_seed(capsys, tmp_path):
    path = tmp_path / "m.safetensors"
    assert run("train", "--seed", "3", *QUICK, "-o", path, "--json") == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [each["seed"] for each in runs] == [3, 4]
    splits = [Split.from_lists(each["split"]) for each in runs]
    assert [split.sizes for split in splits] == [(140, 500, 1000)] * 2
    kept = TrainedModel.load(path).facts["split"]
    assert kept in [each["split"] for each in runs]


def test_an_attacked_training_says_by_what(capsys, tmp_path):
    flips = shipped()
    flips.save(tmp_path / "flips.json")
    words = ["--splits", "1", "--epochs", "1", "--json", "--attack", tmp_path / "flips.json"]
    assert run("train", "cora", *words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["notes"] == [f"attacked by flips.json: {len(flips)} edges flipped by metattack"]
    assert facts["nodes"] == 2485


@pytest.mark.parametrize("model", ["gcn", "appnp"])
def test_rivals_train_too(model, capsys):
    assert run("train", "--model", model, "--epochs", "2", "--splits", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["splits"] == 1


def test_same_seed_same_numbers(capsys):
    answers = []
    for _ in range(2):
        run("train", *QUICK, "--seed", "5", "--json")
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["test"] == answers[1]["test"]
    assert answers[0]["validation"] == answers[1]["validation"]


def test_own_files_train_and_predict(own_files, tmp_path, capsys):
    edges, labels = own_files
    model, output = tmp_path / "own.safetensors", tmp_path / "predictions.csv"
    arguments = ["--edges", edges, "--labels", labels, "--epochs", "60", "--splits", "2"]
    assert run("train", *arguments, "-o", model) == 0
    assert "stand-ins" in capsys.readouterr().out
    assert run("predict", model, edges, "-o", output) == 0
    with output.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["class"] for row in rows} <= {"team 0", "team 1", "team 2"}
    assert {row["node"] for row in rows} >= {"p0", "p1"}
    assert all(0 <= float(row["moved"]) <= 1 for row in rows)
    assert all(1 / 3 <= float(row["probability"]) <= 1 for row in rows)


def test_predict_by_the_name_of_a_data_set(tmp_path, capsys):
    run("train", *QUICK, "-o", tmp_path / "m.safetensors")
    capsys.readouterr()
    assert run("predict", tmp_path / "m.safetensors", "cora", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    assert len(rows) == 2708
    assert {row["class"] for row in rows} <= set(load("cora").class_names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nowhere"], "nowhere"),
        (["train", "--model", "transformer"], "name must be one of"),
        (["train", "--lambda1", "-1"], "lambda1 must be"),
        (["train", "--splits", "0"], "splits must be >= 1"),
        (["train", "--epochs", "0"], "epochs must be >= 1"),
        (["train", "--labels", "x.csv"], "--edges must be given"),
        (["train", "--edges", "missing.csv"], "missing.csv"),
        (["train", "-o", "no/such/folder/m.st", *QUICK], "folder that exists"),
        (["predict", "missing.safetensors", "cora"], "model must be a file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert run(*arguments) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert message in printed
    assert printed.count("\n") == 1


def test_a_model_is_refused_on_nodes_it_does_not_know(own_files, tmp_path, capsys):
    edges, labels = own_files
    model = tmp_path / "own.safetensors"
    run("train", "--edges", edges, "--labels", labels, *QUICK, "-o", model)
    other = tmp_path / "other.csv"
    other.write_text(edges.read_text().replace("p1,", "stranger,"))
    assert run("predict", model, other) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: edges must name the nodes")
    assert "'stranger'" in printed


def test_a_model_of_own_files_takes_the_rows_in_any_order(own_files, tmp_path, capsys):
    edges, labels = own_files
    model = tmp_path / "own.safetensors"
    run("train", "--edges", edges, "--labels", labels, *QUICK, "-o", model)
    header, *rows = edges.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([header, *reversed(rows)]) + "\n")
    answers = []
    for path in (edges, other):
        capsys.readouterr()
        assert run("predict", model, path, "--json") == 0
        rows = json.loads(capsys.readouterr().out)["predictions"]
        answers.append({row["node"]: (row["class"], round(row["probability"], 4)) for row in rows})
    assert answers[0] == answers[1]


def test_unlabelled_files_are_refused(own_files, capsys):
    assert run("train", "--edges", own_files[0]) == 2
    assert "labels must name the class of some nodes" in capsys.readouterr().err


def test_doctor_says_whether_the_fast_path_is_in_use(capsys):
    code = run("doctor", "--json")
    facts = json.loads(capsys.readouterr().out)
    assert facts["packages"]["torch"] != "missing"
    assert facts["healthy"] == (code == 0)
    assert facts["healthy"] == bool(facts["fused kernels"])


def test_concavity_reaches_the_model_and_is_refused_for_convex_norms(capsys, tmp_path):
    path = tmp_path / "model.safetensors"
    words = ["train", "cora", *QUICK, "--norm", "mcp", "--lambda2", 0]
    assert run(*words, "--concavity", 4.5, "-o", path) == 0
    assert TrainedModel.load(path).model.penalty.concavity == 4.5
    assert run("train", "cora", *QUICK, "--concavity", 4.5) == 2
    assert "concavity must be None for norm 'l21'" in capsys.readouterr().err


def test_own_files_of_very_many_nodes_are_split_once(monkeypatch):
    """Ten trainings on half a million nodes would take ten times as long."""
    task = block_model([20, 20], torch.Generator().manual_seed(0))
    assert len(draw_splits(task, None, 0, own=True)) == 10
    monkeypatch.setattr("elasticgnn.data.splits.MANY_NODES", 39)
    assert len(draw_splits(task, None, 0, own=True)) == 1
    assert len(draw_splits(task, 3, 0, own=True)) == 3
    assert len(draw_splits(load("cora"), None, 0, own=False)) == 10
