"""`train --target number` and what `predict` makes of it."""

import csv
import json

import pytest
import torch

from command_calls import run
from elasticgnn.data import block_model


@pytest.fixture
def files(tmp_path):
    """Eighty nodes whose price is ten times their size."""
    task = block_model([40, 40], torch.Generator().manual_seed(0), inside=0.2)
    ends = zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True)
    (tmp_path / "edges.csv").write_text(
        "source,target\n" + "".join(f"n{a},n{b}\n" for a, b in ends)
    )
    rows = "".join(f"n{k},{k % 13},{k % 5}\n" for k in range(80))
    (tmp_path / "features.csv").write_text("id,size,age\n" + rows)
    prices = "".join(f"n{k},{10 * (k % 13) + k / 100},{k}\n" for k in range(0, 80, 2))
    (tmp_path / "prices.csv").write_text("id,price,day\n" + prices)
    return tmp_path


def test_numbers_are_learned_and_predicted_with_intervals(files, capsys):
    own = ("--edges", files / "edges.csv", "--features", files / "features.csv")
    labels = ("--labels", files / "prices.csv", "--label", "price", "--target", "number")
    model, answer = files / "m.safetensors", files / "out.csv"
    assert run("train", *own, *labels, "--minutes", 0.01, "--time", "day", "-o", model) == 0
    printed = capsys.readouterr().out
    for words in ("column 'price' holds 40 numbers", "ridge", "neighbour average", "r2 ", "mean "):
        assert words in printed
    where = (files / "edges.csv", "--features", files / "features.csv")
    assert run("predict", model, *where, "--coverage", 0.8, "-o", answer) == 0
    rows = list(csv.DictReader(answer.read_text().splitlines()))
    assert list(rows[0]) == ["node", "value", "role", "moved", "low", "high"]
    right = sum(
        float(r["low"]) - 1 <= 10 * (int(r["node"][1:]) % 13) <= float(r["high"]) + 1 for r in rows
    )
    assert right > 55
    assert [row["role"] for row in rows[:2]] == ["trained on", "unknown"]
    check_endless(model, where, capsys)
    page, labels = files / "page.html", ("--labels", files / "prices.csv", "--label", "price")
    assert run("report", model, *where, *labels, "-o", page) == 0
    assert '"known":40' in page.read_text("utf-8")
    assert run("report", model, *where, *labels, "--plot", files / "worth.svg") == 2
    assert "--plot must be asked of a model of classes" in capsys.readouterr().err
    check_inspection(model, where, labels, files, capsys)
    check_explanation(model, where, files, capsys, float(rows[12]["value"]))


def check_endless(model, where, capsys):
    """Forty numbers cannot say what holds in 999 of 1000 cases; JSON has no word for infinity."""
    for coverage, endless in ((0.9, False), (0.999, True)):
        capsys.readouterr()
        assert run("predict", model, *where, "--coverage", coverage, "--json") == 0
        rows = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["predictions"]
        assert len(rows) == 80
        assert all((row["low"] is None) == endless for row in rows)


def check_explanation(model, where, files, capsys, value):
    capsys.readouterr()
    words = ("explain", model, where[0], "n12", *where[1:])
    assert run(*words, "--plot", files / "why.svg") == 0
    printed = capsys.readouterr().out
    assert float(printed.split()[1]) == pytest.approx(value, rel=1e-3)
    assert "what their edges add:" in printed
    assert "size = 12" in printed
    assert (files / "why.svg").read_text("utf-8").count("<path") > 20
    assert run(*words, "--json") == 0
    known = json.loads(capsys.readouterr().out)
    assert known["value"] == pytest.approx(value, rel=1e-3)
    assert known["features"][0]["name"] == "size"  # the price is ten times the size
    assert run(*words, "--class", "dear") == 2
    assert "--class must be asked of a model of classes" in capsys.readouterr().err


def check_inspection(model, where, labels, files, capsys):
    ranked, cleaned = files / "ranked.csv", files / "cleaned.csv"
    capsys.readouterr()
    words = (*where, *labels, "-o", ranked, "--drop", 3, "--cleaned", cleaned)
    assert run("inspect", model, *words) == 0
    printed = capsys.readouterr().out
    assert "how far the numbers at the two ends" in printed
    rows = list(csv.DictReader(ranked.read_text().splitlines()))
    edges = (files / "edges.csv").read_text().splitlines()
    assert len(rows) == len(edges) - 1
    gaps = [float(row["difference"]) for row in rows]
    assert gaps == sorted(gaps, reverse=True)
    known = {f"n{k}": 10 * (k % 13) + k / 100 for k in range(0, 80, 2)}
    for row in rows:
        ends = float(row["source_value"]), float(row["target_value"])
        assert float(row["difference"]) == pytest.approx(abs(ends[0] - ends[1]), abs=1e-3)
        if row["source"] in known:
            assert ends[0] == pytest.approx(known[row["source"]], rel=1e-6)
    assert len(cleaned.read_text().splitlines()) == len(edges) - 3
    assert run("inspect", model, *where, "--json") == 0
    assert json.loads(capsys.readouterr().out)["worst"][0]["saturation"] >= 0


def test_what_does_not_go_with_numbers_is_refused(files, capsys):
    own = ("--edges", files / "edges.csv", "--labels", files / "prices.csv", "--label", "price")
    assert run("train", *own) == 2
    assert "for which there is --target number" in capsys.readouterr().err
    assert run("train", *own, "--target", "number", "--lambda1", 1) == 2
    assert "got --lambda1" in capsys.readouterr().err
    assert run("train", *own, "--target", "price") == 2
    assert "target must be class or number" in capsys.readouterr().err
    assert run("train", "--target", "number") == 2
    assert "--edges must be given" in capsys.readouterr().err


def test_large_numbers_near_each_other_keep_their_digits(files, capsys):
    rows = "".join(f"n{k},{10**9 + 10 * (k % 13) + k / 100}\n" for k in range(0, 80, 2))
    (files / "large.csv").write_text("id,price\n" + rows)
    own = ("--edges", files / "edges.csv", "--features", files / "features.csv")
    labels = ("--labels", files / "large.csv", "--label", "price")
    model, answer = files / "m.safetensors", files / "out.csv"
    assert run("train", *own, *labels, "--target", "number", "--minutes", 0.01, "-o", model) == 0
    assert "learn from, 1000000000 to 1000000121" in capsys.readouterr().out
    where = (files / "edges.csv", "--features", files / "features.csv")
    assert run("predict", model, *where, "-o", answer) == 0
    found = list(csv.DictReader(answer.read_text().splitlines()))
    assert len({row["value"] for row in found}) > 10
    assert all(float(row["low"]) < float(row["value"]) < float(row["high"]) for row in found)
    assert run("inspect", model, *where, *labels, "-o", answer) == 0
    row = next(csv.DictReader(answer.read_text().splitlines()))
    gap = abs(float(row["source_value"]) - float(row["target_value"]))
    assert gap == pytest.approx(float(row["difference"]), abs=0.01)
    capsys.readouterr()
    assert run("explain", model, where[0], "n12", *where[1:]) == 0
    assert "n12: 1000000" in capsys.readouterr().out
