"""Answers on a person's own files that do not mislead."""

import csv
import json
import signal
import subprocess
import sys
import time

import pytest
import torch

from command_calls import run
from elasticgnn.data import block_model

QUICK = ("--splits", 1, "--epochs", 3)


@pytest.fixture
def files(tmp_path):
    """Sixty nodes with weighted edges, three named features, and a label each."""
    task = block_model([30, 30], torch.Generator().manual_seed(0), inside=0.3)
    ends = zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True)
    lines = "".join(f"n{a},n{b},{1 + (a + b) % 3}\n" for a, b in ends)
    (tmp_path / "edges.csv").write_text("source,target,weight\n" + lines)
    rows = "".join(f"n{k},{k % 5},{k // 30},{k % 7}\n" for k in range(60))
    (tmp_path / "features.csv").write_text("id,a,b,c\n" + rows)
    labels = "".join(f"n{k},{'yes' if k >= 30 else 'no'}\n" for k in range(60))
    (tmp_path / "labels.csv").write_text("id,label\n" + labels)
    return tmp_path


def train(files, *words, labels="labels.csv"):
    own = ("--edges", files / "edges.csv", "--features", files / "features.csv")
    return run("train", *own, "--labels", files / labels, *QUICK, *words)


def test_columns_of_any_size_train_alike_with_given_settings(files, capsys):
    """One in thousands drowned the others, and the model learned nothing of use."""
    rows = (files / "features.csv").read_text().splitlines()[1:]
    cells = [row.split(",") for row in rows]
    wide = [",".join([*row[:3], str(1e4 * int(row[3]) + 7e5)]) for row in cells]
    (files / "wide.csv").write_text("\n".join(["id,a,b,c", *wide]))
    answers = []
    for name in ("features.csv", "wide.csv"):
        own = ("--edges", files / "edges.csv", "--features", files / name)
        words = ("--labels", files / "labels.csv", "--model", "mlp", "--splits", 1, "--epochs", 30)
        model = files / f"{name}.safetensors"
        assert run("train", *own, *words, "-o", model) == 0
        capsys.readouterr()
        assert run("predict", model, files / "edges.csv", "--features", files / name) == 0
        printed = csv.DictReader(capsys.readouterr().out.splitlines())
        answers.append([float(row["p(yes)"]) for row in printed])
    assert answers[0] == pytest.approx(answers[1], abs=0.01)
    assert sum((value > 0.5) == (k >= 30) for k, value in enumerate(answers[1])) >= 58


def test_no_better_than_the_majority_is_a_warning(files, capsys):
    labels = "".join(f"n{k},{'rare' if k % 6 == 0 else 'usual'}\n" for k in range(60))
    (files / "labels.csv").write_text("id,label\n" + labels)
    assert train(files) == 0
    printed = capsys.readouterr().out
    assert "WARNING: this model has learned nothing of use: always saying 'usual'" in printed
    assert train(files, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["majority"]["class"] == "usual"
    assert facts["beats_majority"] is False


def test_too_few_labels_to_test_are_said(files, capsys):
    (files / "few.csv").write_text("id,label\nn1,no\nn40,yes\n")
    assert train(files, labels="few.csv") == 0
    printed = capsys.readouterr().out
    assert "nan" not in printed
    assert "test accuracy unknown" in printed
    assert "WARNING: no labelled node is left to test on" in printed


def test_splits_name_nodes_by_their_ids(files, capsys):
    assert train(files, "--json") == 0
    split = json.loads(capsys.readouterr().out)["runs"][0]["split"]
    assert sorted(split["train"] + split["val"] + split["test"]) == sorted(
        f"n{k}" for k in range(60)
    )


def test_columns_in_another_order_change_nothing(files, capsys):
    assert train(files, "-o", files / "m.safetensors") == 0
    lines = list(csv.reader((files / "features.csv").read_text().splitlines()))
    reordered = "\n".join(",".join([*reversed(row[1:]), row[0]]) for row in lines)
    (files / "reordered.csv").write_text(reordered + "\n")
    answers = []
    for name in ("features.csv", "reordered.csv"):
        capsys.readouterr()
        where = (files / "m.safetensors", files / "edges.csv", "--features", files / name)
        assert run("predict", *where) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


def test_forgotten_features_are_asked_for(files, capsys):
    assert train(files, "-o", files / "m.safetensors") == 0
    capsys.readouterr()
    assert run("predict", files / "m.safetensors", files / "edges.csv") == 2
    assert "features must be given (--features)" in capsys.readouterr().err


def test_a_file_in_place_of_a_data_set_is_refused_with_its_option(capsys):
    for more in ((), ("--features", "f.csv", "--labels", "l.csv")):
        assert run("train", "e.csv", *more) == 2
        assert "use --edges e.csv" in capsys.readouterr().err


def test_inspect_drops_edges_without_labels_and_keeps_weights(files, capsys):
    assert train(files, "-o", files / "m.safetensors") == 0
    capsys.readouterr()
    own = (files / "edges.csv", "--features", files / "features.csv")
    words = ("--drop", 5, "--cleaned", files / "clean.csv")
    assert run("inspect", files / "m.safetensors", *own, *words) == 0
    assert "the most suspicious:" in capsys.readouterr().out
    before, after = (
        {
            tuple(sorted(row[:2])): float(row[2])
            for row in list(csv.reader(path.read_text().splitlines()))[1:]
        }
        for path in (files / "edges.csv", files / "clean.csv")
    )
    assert len(after) == len(before) - 5
    assert all(before[pair] == weight for pair, weight in after.items())


def test_dropping_more_edges_than_there_are_writes_nothing(files, capsys):
    assert train(files, "-o", files / "m.safetensors") == 0
    own = (files / "edges.csv", "--features", files / "features.csv")
    words = ("--drop", 99999, "-o", files / "ranking.csv")
    assert run("inspect", files / "m.safetensors", *own, *words) == 2
    assert not (files / "ranking.csv").exists()


def test_inspect_finds_nodes_by_id_in_edges_of_another_order(files, capsys):
    own = ("--edges", files / "edges.csv", "--labels", files / "labels.csv")
    assert run("train", *own, *QUICK, "-o", files / "m.safetensors") == 0
    header, *rows = (files / "edges.csv").read_text().splitlines()
    (files / "reordered.csv").write_text("\n".join([header, *reversed(rows)]) + "\n")
    answers = []
    for name in ("edges.csv", "reordered.csv"):
        capsys.readouterr()
        assert run("inspect", files / "m.safetensors", files / name, "--json") == 0
        worst = json.loads(capsys.readouterr().out)["worst"][0]
        answers.append((sorted([worst["source"], worst["target"]]), round(worst["difference"], 4)))
    assert answers[0] == answers[1]


def test_own_files_are_tuned_unless_settings_are_given(files, capsys):
    own = ("--edges", files / "edges.csv", "--features", files / "features.csv")
    own = (*own, "--labels", files / "labels.csv", "--minutes", 0.01)
    model, answer = files / "m.safetensors", files / "out.csv"
    assert run("train", *own, "-o", model) == 0
    printed = capsys.readouterr().out
    for words in (
        "cross-validation",
        "label propagation",
        "that chose nothing",
        "the graph ",
        "by chance",
    ):
        assert words in printed
    where = (files / "edges.csv", "--features", files / "features.csv")
    assert run("predict", model, *where, "--coverage", 0.9, "-o", answer) == 0
    assert "nodes kept away (by chance " in capsys.readouterr().out
    rows = list(csv.DictReader(answer.read_text().splitlines()))
    assert {"p(no)", "p(yes)", "set"} <= set(rows[0])
    assert all(float(r["p(no)"]) + float(r["p(yes)"]) == pytest.approx(1) for r in rows)
    assert all(row["set"].split("|")[0] in (row["class"], "") for row in rows)


def test_a_comparison_that_was_killed_goes_on_and_says_so(files, capsys):
    own = ("--edges", files / "edges.csv", "--features", files / "features.csv")
    command = ("train", *own, "--labels", files / "labels.csv", "--minutes", 1)
    command = [sys.executable, "-m", "elasticgnn", *map(str, command), "-o", str(files / "m.st")]
    left, quiet = files / "m.st.tuning", subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        while not left.exists() and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (files / "m.st").exists()
    short = ("--labels", files / "labels.csv", "--minutes", 0.01, "-o", files / "m.st")
    assert run("train", *own, *short) == 0
    assert f"goes on with what was measured before, in {left}" in capsys.readouterr().err
    assert (files / "m.st").exists()
    assert not left.exists()


def test_sets_are_only_given_by_tuned_models(files, capsys):
    assert train(files, "-o", files / "m.safetensors") == 0
    where = (files / "edges.csv", "--features", files / "features.csv")
    assert run("predict", files / "m.safetensors", *where, "--coverage", 0.9) == 2
    assert "coverage must be asked of a model that `train` has tuned" in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--metric", "auc"), ("--minutes", 2)])
@pytest.mark.parametrize("settings", [("--model", "gcn"), ("--tune", "off")])
def test_options_of_a_comparison_are_not_dropped_in_silence(files, capsys, option, settings):
    own = ("--edges", files / "edges.csv", "--labels", files / "labels.csv")
    assert run("train", *own, *settings, *option) == 2
    assert f"{option[0]} must go with a comparison of models" in capsys.readouterr().err
    assert run("train", "cora", *option) == 2


def test_files_unlike_those_of_the_training_are_said(files, capsys):
    model = files / "m.safetensors"
    assert train(files, "-o", model) == 0
    edges = (files / "edges.csv").read_text()
    (files / "light.csv").write_text("\n".join(row.rsplit(",", 1)[0] for row in edges.split()))
    (files / "bare.csv").write_text((files / "features.csv").read_text().split("\n", 1)[1])
    notes = {
        ("edges.csv", "features.csv"): set(),
        ("light.csv", "features.csv"): {"edges are unweighted, the model knows weighted ones"},
        ("edges.csv", "bare.csv"): {"features have no names: the model takes their columns in"},
    }
    for (graph, features), expected in notes.items():
        capsys.readouterr()
        assert run("predict", model, files / graph, "--features", files / features) == 0
        printed = capsys.readouterr().err
        assert all(note in printed for note in expected)
        assert ("weighted" in printed or "no names" in printed) == bool(expected)
