"""`elasticgnn certify` on own files: what it prints, what it writes, what it refuses."""

import csv
import json
from dataclasses import replace

import pytest
import torch

from attack.small_task import planted_task
from command_calls import run
from elasticgnn.data import read_task, share_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainedModel, TrainingPlan, fit, make_model, trained_on
from elasticgnn.training.model.roles import scored_nodes


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    task, generator = planted_task(), torch.Generator().manual_seed(0)
    settings = ModelSettings("elastic", lambda1=1.0)
    model = make_model(settings, task, generator)
    split = share_split(task.labels, generator)
    fit(model, task, split, TrainingPlan(epochs=40), generator)
    path = tmp_path_factory.mktemp("certify") / "model.safetensors"
    trained_on(task, model, settings, {"split": split.to_lists()}).save(path)
    return path


@pytest.fixture(autouse=True)
def planted(monkeypatch):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())


QUICK = ["--samples", 300, "--p-plus", 0.01, "--radius", 3]


def test_certified_accuracy_falls_with_the_radius_and_nodes_are_written(
    model_file, capsys, tmp_path
):
    path = tmp_path / "nodes.csv"
    assert run("certify", model_file, "planted", *QUICK, "--json", "-o", path) == 0
    facts = json.loads(capsys.readouterr().out)
    for shares in facts["certified"].values():
        assert len(shares) == 4
        assert shares == sorted(shares, reverse=True)
        assert shares[0] <= facts["smoothed_accuracy"]
    assert facts["certified"]["deletions"][1] > 0
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    assert {"node", "class", "additions", "deletions"} < set(rows[0])


def test_denoiser_is_one_option(model_file, capsys):
    assert run("certify", model_file, "planted", *QUICK, "--denoise", 0.2) == 0
    assert "certified, additions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--p-plus", 0.7, "--p-minus", 0.7], "p_plus + p_minus must be at most 1"),
        (["--samples", 0], "samples must be >= 1"),
        (["--alpha", 2], "alpha in (0, 1)"),
        (["--denoise", 2], "denoise must be in [0, 1]"),
        (["--seed", -1], "seed must be >= 0, got -1"),
        (["-o", "/no/such/folder/x.csv"], "must"),
    ],
)
def test_bad_options_are_one_line(model_file, words, message, capsys):
    assert run("certify", model_file, "planted", *words) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("shift", [0, 7])
def test_the_test_nodes_of_own_files_are_found_by_their_ids(tmp_path, monkeypatch, capsys, shift):
    monkeypatch.undo()  # own files, no data set
    names = [(5 * k + shift) % 24 + shift for k in range(24)]  # ids that are not the places
    rows = (f"{a},{b}\n" for a, b in zip(names, [*names[1:], names[0]], strict=True))
    (tmp_path / "e.csv").write_text("source,target\n" + "".join(rows))
    classes = (f"{name},c{k % 2}\n" for k, name in enumerate(names))
    (tmp_path / "l.csv").write_text("id,label\n" + "".join(classes))
    files = ["--edges", tmp_path / "e.csv", "--labels", tmp_path / "l.csv"]
    assert run("train", *files, "--splits", 1, "--epochs", 2, "-o", tmp_path / "m.st") == 0
    trained = TrainedModel.load(tmp_path / "m.st")
    task = read_task(tmp_path / "e.csv", None, tmp_path / "l.csv")
    found = [task.node_ids[node] for node in scored_nodes(trained, task)]
    assert found == trained.facts["split"]["test"]


@pytest.fixture
def own_files(tmp_path, monkeypatch):
    """Three classes told by features of large numbers, and the words that certify a model."""
    monkeypatch.undo()
    ring = [f"n{k}" for k in range(42)]
    rows = [f"{ring[k]},{ring[(k + 3) % 42]}" for k in range(42)]
    (tmp_path / "e.csv").write_text("\n".join(["from_node,to_node", *rows]))
    rows = [f"{name},{1000 * (k % 3 == 0) + k},{500 * (k % 3 == 1)}" for k, name in enumerate(ring)]
    (tmp_path / "f.csv").write_text("\n".join(["id,size,other", *rows]))
    rows = [f"{name},{'zyx'[k % 3]}" for k, name in enumerate(ring)]
    (tmp_path / "l.csv").write_text("\n".join(["id,label", *rows]))
    layout = ["--source", "from_node", "--target-column", "to_node"]
    task = ["--features", tmp_path / "f.csv", "--labels", tmp_path / "l.csv", *layout]
    words = ["--model", "elastic", "--splits", 1, "--epochs", 80, "-o", tmp_path / "m.st"]
    assert run("train", "--edges", tmp_path / "e.csv", *task, *words) == 0
    return tmp_path, ["certify", tmp_path / "m.st", tmp_path / "e.csv", *task]


NO_NOISE = ["--p-plus", 0, "--p-minus", 0.001, "--samples", 20]


def classes_in(path, column="class"):
    with path.open() as file:
        return {row["node"]: row[column] for row in csv.DictReader(file)}


def predicted(folder):
    words = [folder / "e.csv", "--features", folder / "f.csv", "-o", folder / "p.csv"]
    layout = ["--source", "from_node", "--target-column", "to_node"]
    assert run("predict", folder / "m.st", *words, *layout) == 0
    return classes_in(folder / "p.csv")


def test_almost_without_noise_the_classes_are_those_of_predict(own_files):
    folder, words = own_files
    assert run(*words, *NO_NOISE, "-o", folder / "c.csv") == 0
    found = classes_in(folder / "c.csv")
    assert set(found.values()) == {"x", "y", "z"}
    assert found == predicted(folder)


def test_a_calibration_s_bias_decides_as_in_predict(own_files):
    folder, words = own_files
    trained = TrainedModel.load(folder / "m.st")
    replace(trained, temperature=2.0, bias=(50.0, 0.0, 0.0)).save(folder / "m.st")
    assert run(*words, *NO_NOISE, "-o", folder / "c.csv") == 0
    assert classes_in(folder / "c.csv") == predicted(folder)
    assert set(predicted(folder).values()) == {"x"}


def test_labels_of_fewer_classes_are_those_of_the_model(own_files, capsys):
    folder, words = own_files
    (folder / "l.csv").write_text("id,label\nn0,z\nn1,y\nn3,z\n")
    assert run(*words, *NO_NOISE, "--json") == 0
    assert json.loads(capsys.readouterr().out)["smoothed_accuracy"] == 1


def test_without_labels_the_refusal_comes_before_the_votes(own_files, capsys):
    _, words = own_files
    at = words.index("--labels")
    assert run(*words[:at], *words[at + 2 :], "--samples", 10**9) == 2
    assert "labels must name the class of some nodes, got none" in capsys.readouterr().err


def test_what_the_certificate_says_nothing_of_is_noted(tmp_path, monkeypatch, capsys):
    monkeypatch.undo()
    ring = [f"{k},{(k + 1) % 24}" for k in range(24)]
    (tmp_path / "e.csv").write_text("\n".join(["source,target", *ring]))
    rows = [f"{k},c{k // 12}" for k in range(24)]
    (tmp_path / "l.csv").write_text("\n".join(["id,label", *rows]))
    files = ["--edges", tmp_path / "e.csv", "--labels", tmp_path / "l.csv"]
    assert run("train", *files, "--splits", 1, "--epochs", 2, "-o", tmp_path / "m.st") == 0
    trained = TrainedModel.load(tmp_path / "m.st")
    replace(trained, facts=trained.facts | {"split": None}).save(tmp_path / "m.st")
    assert run("certify", tmp_path / "m.st", *files[1:], *NO_NOISE) == 0
    printed = capsys.readouterr()
    assert "of 24 nodes" in printed.out
    assert "those that it was trained on are among them" in printed.err
    assert "features are made from the graph: certified with them as they are" in printed.err
