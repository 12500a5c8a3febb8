"""A split in a file of its own: tables, lists, and what does not fit."""

import json

import pytest
import torch

from elasticgnn.cli.__main__ import main
from elasticgnn.data import block_model
from elasticgnn.data.own.split_file import with_split_file
from elasticgnn.training import Splitting
from elasticgnn.training.splits.own import own_splits

ROWS = [("0", "train"), ("1", "Train"), ("2", "val"), ("3", "test")]


@pytest.fixture
def task():
    return block_model([3, 3], torch.Generator().manual_seed(0))


def texts(task, folder, name, text):
    path = folder / name
    path.write_text(text)
    return with_split_file(task, path).label_columns[name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,split\n" + "".join(f"{a},{b}\n" for a, b in ROWS)),
        ("b.csv", "".join(f"{a},{b}\n" for a, b in ROWS)),
        ("c.csv", "day,part,id\n" + "".join(f"7,{b},{a}\n" for a, b in ROWS)),
        ("d.tsv", "who\tset\n" + "".join(f"{a}\t{b}\n" for a, b in ROWS)),
        ("e.json", json.dumps({"train": [0], "Train": ["1"], "val": [2], "test": [3]})),
    ],
)
def test_every_form_says_the_same(task, tmp_path, name, text):
    assert texts(task, tmp_path, name, text) == ("train", "Train", "val", "test", "", "")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,split\n0,train\n9,test\n", "the node must be in the graph, got '9'"),
        ("a.csv", "id,split\n0,train\n0,test\n", "each node must have one row"),
        ("a.csv", "id,day,hour\n0,1,2\n", "columns must be id and split, got 3 columns"),
        ("a.json", '{"train": [0], "test": [0]}', "must name each node once, got '0' twice"),
        ("a.json", "[0, 1]", "must be an object with a list of ids"),
        ("a.json", "{", "must be JSON"),
    ],
)
def test_what_does_not_fit_is_refused(task, tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        texts(task, tmp_path, name, text)


def test_its_parts_are_the_split(task, tmp_path):
    path = tmp_path / "parts.json"
    path.write_text(json.dumps({"train": [0, 3], "val": [1, 4], "test": [2, 5]}))
    marked = with_split_file(task, path)
    (split,) = own_splits(marked, Splitting(parts="parts.json"), 0)
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [
        [0, 3],
        [1, 4],
        [2, 5],
    ]


def test_the_command_takes_the_file(tmp_path, capsys):
    names = [f"p{k}" for k in range(40)]
    edges, labels, split = (tmp_path / f"{name}.csv" for name in ("edges", "labels", "split"))
    edges.write_text("source,target\n" + "".join(f"p{k},p{(k + 1) % 40}\n" for k in range(40)))
    labels.write_text("id,label\n" + "".join(f"{n},{'ab'[k // 20]}\n" for k, n in enumerate(names)))
    parts = ["train", "train", "val", "test"]
    split.write_text("id,split\n" + "".join(f"{n},{parts[k % 4]}\n" for k, n in enumerate(names)))
    words = ["--edges", edges, "--labels", labels, "--split", split, "--epochs", "2", "--json"]
    with pytest.raises(SystemExit, match="0"):
        main(["train", *map(str, words)])
    used = json.loads(capsys.readouterr().out)["runs"][0]["split"]
    assert used["test"] == names[3::4]
    with pytest.raises(SystemExit, match="2"):
        main(["train", *map(str, words), "--split-column", "x"])
    assert "one at a time" in capsys.readouterr().err
