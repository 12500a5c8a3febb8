"""The main job, cut down to seconds."""

import json

import pytest

from command_calls import run
from elasticgnn.cli.demo import finished_tables
from elasticgnn.demo import trainings as demo_cells


def test_demo_prints_a_table_and_draws_a_picture(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo_cells, "DAMAGES", {"random": (0.0, 0.4), "metattack": (0.0, 0.25)})
    picture = tmp_path / "demo.png"
    assert run("demo", "--runs", 2, "--epochs", 3, "--jobs", 1, "-o", picture) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("ElasticGNN", "APPNP", "GCN", "MLP", "40%", "25%"))
    assert str(picture) in printed.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_table_is_there_as_soon_as_its_cells_are_trained(monkeypatch):
    monkeypatch.setattr(demo_cells, "DAMAGES", {"random": (0.0, 0.4), "metattack": (0.0, 0.25)})
    asked = []
    train = demo_cells.train_cell
    monkeypatch.setattr(demo_cells, "train_cell", lambda cell: asked.append(cell) or train(cell))
    tables = finished_tables(demo_cells.list_cells(runs=1, epochs=1, seed=0), jobs=1, shown=False)
    damage, rows = next(tables)
    assert damage == "random"
    assert {cell.damage for cell in asked} == {"random"}
    assert len(rows["gcn"]) == 2
    assert [damage for damage, _ in tables] == ["metattack"]


def test_cells_are_the_same_in_other_processes(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(demo_cells, "DAMAGES", {"random": (0.0,), "metattack": (0.05,)})
    answers = []
    for jobs in (1, 2):
        picture = tmp_path / f"{jobs}.png"
        run("demo", "--runs", 1, "--epochs", 2, "--jobs", jobs, "-o", picture, "--json")
        answers.append(json.loads(capsys.readouterr().out)["random"]["models"])
    for name, cells in answers[0].items():
        assert [c["mean"] for c in cells] == [c["mean"] for c in answers[1][name]]


@pytest.mark.parametrize(
    ("option", "message"),
    [(["--runs", "0"], "runs and epochs must be >= 1"), (["-o", "no/x.png"], "folder")],
)
def test_bad_options_are_refused(option, message, capsys):
    assert run("demo", "--epochs", 1, "--jobs", 1, *option) == 2
    assert message in capsys.readouterr().err


def test_variants_trained_side_by_side_equal_those_trained_alone():
    from dataclasses import replace

    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainingPlan
    from elasticgnn.training.repeats.repeat import fit_repeatedly

    cell = demo_cells.Cell("elastic", "metattack", 0.1, 2, 3, seed=5)
    task, splits = demo_cells.damaged(cell)
    variants = [replace(ModelSettings("elastic"), lambda2=value) for value in (3.0, 0.0)]
    plan = TrainingPlan(epochs=3)
    together = demo_cells.train_variants(task, splits, variants, plan, seed=5)
    for settings, histories in zip(variants, together, strict=True):
        alone = fit_repeatedly(task, splits, settings, plan, seed=5).histories
        for one, other in zip(histories, alone, strict=True):
            assert one.loss == pytest.approx(other.loss, rel=1e-5)


def test_metattack_damage_is_the_shipped_one():
    from elasticgnn.attack import shipped

    cell = demo_cells.Cell("gcn", "metattack", 0.2, 1, 1, 0)
    task, splits = demo_cells.damaged(cell)
    assert (
        task.graph.num_edges
        != demo_cells.damaged(demo_cells.Cell("gcn", "metattack", 0.0, 1, 1, 0))[0].graph.num_edges
    )
    assert splits[0].train.tolist() == shipped().split.train.tolist()
