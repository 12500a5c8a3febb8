"""The main job, cut down to seconds."""

import json

import pytest

from elasticgnn.cli import demo
from elasticgnn.cli.__main__ import main


def run(*arguments):
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as leave:
        return leave.code or 0
    return 0


def test_demo_prints_a_table_and_draws_a_picture(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "SHARES", (0.0, 0.4))
    picture = tmp_path / "demo.png"
    assert run("demo", "--splits", 2, "--epochs", 3, "--jobs", 1, "-o", picture) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("ElasticGNN", "APPNP", "GCN", "MLP", "40%"))
    assert str(picture) in said.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_cells_are_the_same_in_other_processes(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "SHARES", (0.0,))
    answers = []
    for jobs in (1, 2):
        picture = tmp_path / f"{jobs}.png"
        run("demo", "--splits", 1, "--epochs", 2, "--jobs", jobs, "-o", picture, "--json")
        answers.append(json.loads(capsys.readouterr().out)["models"])
    for name, cells in answers[0].items():
        assert [c["mean"] for c in cells] == [c["mean"] for c in answers[1][name]]


@pytest.mark.parametrize(
    ("option", "message"),
    [(["--splits", "0"], "splits and epochs must be >= 1"), (["-o", "no/x.png"], "folder")],
)
def test_bad_options_are_refused(option, message, capsys):
    assert run("demo", "--epochs", 1, "--jobs", 1, *option) == 2
    assert message in capsys.readouterr().err
