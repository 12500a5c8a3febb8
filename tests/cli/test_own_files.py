"""A person's own files on the command line: training and predicting work, mistakes are one line."""

import csv
import json

import pytest
import torch

from broken_files import BROKEN, write_with
from command_calls import run
from elasticgnn.data import block_model


@pytest.fixture
def own_files(tmp_path):
    """Edges with names for ids, a third of the nodes labelled, no features."""
    task = block_model([40, 40, 40], torch.Generator().manual_seed(0), inside=0.3)
    ends = zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True)
    edges = "".join(f"person {a},person {b}\n" for a, b in ends)
    labels = "".join(f"person {k},team {task.labels[k]}\n" for k in range(0, 120, 3))
    (tmp_path / "edges.csv").write_text("source,target\n" + edges)
    (tmp_path / "labels.csv").write_text("id,label\n" + labels)
    return tmp_path


def test_names_for_ids_some_labels_and_no_features_are_enough(own_files, capsys):
    edges, labels = own_files / "edges.csv", own_files / "labels.csv"
    model, answer = own_files / "model.safetensors", own_files / "predictions.csv"
    words = ("--splits", 1, "--epochs", 40, "--json", "-o", model)
    assert run("train", "--edges", edges, "--labels", labels, *words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert any("no features given" in note for note in facts["notes"])
    assert run("predict", model, edges, "-o", answer) == 0
    rows = list(csv.reader(answer.read_text().splitlines()))[1:]
    assert len(rows) == 120
    right = sum(row[1] == f"team {int(row[0].split()[1]) // 40}" for row in rows)
    assert right > 100


@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_end_with_code_2_and_one_line(what, tmp_path, capsys):
    file, content, _ = BROKEN[what]
    edges, features, labels = write_with(tmp_path, file, content)
    words = ("--splits", 1, "--epochs", 1, "--json")
    code = run("train", "--edges", edges, "--features", features, "--labels", labels, *words)
    printed = capsys.readouterr()
    assert code == 2
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert f"{file}.csv" in printed.err


@pytest.mark.parametrize("word", ["--target", "--target-column"])
def test_the_column_of_the_other_end_is_named_as_the_first_is(own_files, word, capsys):
    edges = own_files / "edges.csv"
    text = edges.read_text().replace("source,target", "amount,buyer,seller", 1)
    edges.write_text(
        "".join(f"7,{row}\n" if "buyer" not in row else f"{row}\n" for row in text.splitlines())
    )
    model, names = own_files / "model.safetensors", ("--source", "buyer", word, "seller")
    words = ("--splits", 1, "--epochs", 2, "-o", model, *names)
    assert run("train", "--edges", edges, "--labels", own_files / "labels.csv", *words) == 0
    assert run("predict", model, edges, *names, "-o", own_files / "out.csv") == 0
    assert len((own_files / "out.csv").read_text().splitlines()) == 121
    capsys.readouterr()
    assert run("train", "--edges", edges, "--target", "seller") == 2
    assert "target must be class or number, got 'seller'" in capsys.readouterr().err
