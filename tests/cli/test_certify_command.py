"""`elasticgnn certify` on own files: what it prints, what it writes, what it refuses."""

import csv
import json

import pytest
import torch

from attack.small_task import planted_task
from elasticgnn.cli.__main__ import main
from elasticgnn.cli.certify import judged_nodes
from elasticgnn.data import read_task, share_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainedModel, TrainingPlan, fit, make_model, trained_on


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


def run(*words):
    try:
        main([str(word) for word in words])
    except SystemExit as leave:
        return leave.code or 0
    return 0


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
        (["-o", "/no/such/folder/x.csv"], "must"),
    ],
)
def test_bad_options_are_one_line(model_file, words, message, capsys):
    assert run("certify", model_file, "planted", *words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


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
    found = [task.node_ids[node] for node in judged_nodes(task, trained)]
    assert found == trained.facts["split"]["test"]
