"""Own edges with weights, or with pairs that stand twice, under attack: each edge weighs 1."""

import json

import pytest

from attack.small_task import write_planted
from elasticgnn.attack import load_perturbation
from elasticgnn.cli.__main__ import main
from elasticgnn.data import read_task
from elasticgnn.data.unweighted import without_weights

ASIDE = "weights are left aside: an attack adds and removes edges of weight 1"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The planted graph, and the same with five edges that are listed twice."""
    folder = write_planted(tmp_path_factory.mktemp("planted"))
    lines = (folder / "edges.csv").read_text().splitlines()
    (folder / "twice.csv").write_text("\n".join([*lines, *lines[1:6]]) + "\n")
    return folder


def run(*words):
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return stop.value.code or 0


def own(folder, edges):
    others = [f"--{name}={folder}/{name}.csv" for name in ("features", "labels")]
    return [f"--edges={folder}/{edges}", *others]


def test_pairs_that_stand_twice_are_attacked_as_one_edge(files, tmp_path, capsys):
    found = []
    for edges in ("edges.csv", "twice.csv"):
        path = tmp_path / f"{edges}.json"
        words = ("--method", "metattack", "--flips", 3, "-o", path)
        assert run("attack", *own(files, edges), *words) == 0
        assert (ASIDE in capsys.readouterr().err) is (edges == "twice.csv")
        found.append(load_perturbation(path))
    assert found[0].pairs.tolist() == found[1].pairs.tolist()
    assert found[0].fingerprint == found[1].fingerprint


def test_training_takes_the_flips_of_such_edges(files, tmp_path, capsys):
    flips = tmp_path / "flips.json"
    assert (
        run("attack", *own(files, "twice.csv"), "--method", "random", "--flips=3", "-o", flips) == 0
    )
    words = ("--model", "mlp", "--epochs", 2, "--splits", 1, "--attack", flips, "--json")
    capsys.readouterr()
    assert run("train", *own(files, "twice.csv"), *words) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(ASIDE in note for note in notes)
    assert any("3 edges flipped by random" in note for note in notes)


def test_a_model_is_graded_on_the_flips_of_such_edges(files, tmp_path, capsys):
    flips, model = tmp_path / "flips.json", tmp_path / "m.safetensors"
    words = ("--method", "random", "--flips", 3, "-o", flips)
    assert run("attack", *own(files, "twice.csv"), *words) == 0
    words = ("--model", "gcn", "--epochs", 2, "--splits", 1, "-o", model)
    assert run("train", *own(files, "twice.csv"), *words) == 0
    capsys.readouterr()
    edges, *others = own(files, "twice.csv")
    asked = (model, edges.partition("=")[2], *others, "--attack", flips, "--json")
    assert run("inspect", *asked) == 0
    assert json.loads(capsys.readouterr().out)["inserted"] == 3


def test_robustness_is_measured_on_such_edges_as_if_each_stood_once(files, capsys):
    words = ("--models", "gcn", "--attacks", "prbcd", "--rates", 0.1, "--seeds", 1)
    quick = ("--epochs", 5, "--attack-epochs", 2, "--block", 100, "--restarts", 1, "--json")
    found = []
    for edges in ("edges.csv", "twice.csv"):
        assert run("robustness", *own(files, edges), *words, *quick) == 0
        rows = json.loads(capsys.readouterr().out)["outcomes"]
        found.append([{**row, "seconds": None} for row in rows])
    assert found[0]
    assert found[0] == found[1]


def test_edges_of_weight_0_stay_away(tmp_path):
    edges = tmp_path / "edges.csv"
    edges.write_text("source,target,weight\na,b,2\nb,c,0\nc,a,1\n")
    task = without_weights(read_task(edges))
    assert task.graph.num_edges == 2
    assert task.graph.is_unweighted
    assert without_weights(task) is task
