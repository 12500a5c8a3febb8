"""Study files, results and storages that are wrong: one ValueError or OSError that names them."""

import json
import sqlite3

import pytest

from elasticgnn.attack import load_perturbation
from elasticgnn.experiment import load_spec, run_study
from elasticgnn.experiment.cells import cells
from elasticgnn.experiment.engine import WorkPlan
from elasticgnn.experiment.record import unpack_curve
from elasticgnn.experiment.results import read_result, result_path
from elasticgnn.experiment.status import study_status
from elasticgnn.experiment.storage import storage_url

GOOD = 'title = "t"\ndatasets = ["cora"]\n[models.gcn]\nfamily = "gcn"\n'

WRONG = {
    "no TOML": "title = ",
    "binary": "\x00",
    "empty": "",
    "no title": GOOD.replace('title = "t"', ""),
    "no datasets": GOOD.replace('datasets = ["cora"]', ""),
    "no models": GOOD.partition("[models")[0],
    "no family": GOOD.replace('family = "gcn"', ""),
    "datasets a text": GOOD.replace('["cora"]', '"cora"'),
    "datasets numbers": GOOD.replace('["cora"]', "[1]"),
    "datasets empty": GOOD.replace('["cora"]', "[]"),
    "dataset outside": GOOD.replace('"cora"', '"../cora"'),
    "models a list": GOOD.partition("[models")[0] + "models = [1]\n",
    "model a number": GOOD.partition("[models")[0] + "[models]\ngcn = 1\n",
    "model outside": GOOD.replace("models.gcn", 'models."../../x"'),
    "group outside": GOOD + 'group = "/tmp/x"\n',
    "pool outside": 'pool = "../../x"\n' + GOOD,
    "pool absolute": 'pool = "/tmp/x"\n' + GOOD,
    "pool hidden": 'pool = ".."\n' + GOOD,
    "levels a number": 'axis = "rate"\nlevels = 1\n' + GOOD,
    "levels text": 'axis = "rate"\nlevels = ["a"]\n' + GOOD,
    "levels not finite": 'axis = "rate"\nlevels = [nan]\n' + GOOD,
    "protocol a text": 'protocol = "a"\n' + GOOD,
    "protocol unknown": "[protocol]\nspeed = 1\n" + GOOD.replace("title", "x.title", 0),
    "runs a text": GOOD + '[protocol]\nruns = "3"\n',
    "runs half": GOOD + "[protocol]\nruns = 2.5\n",
    "space a number": GOOD + "space = 3\n",
    "space unknown": GOOD + "space = [{speed = 1}]\n",
    "space text": GOOD + 'space = [{dropout = "a"}]\n',
    "space empty": GOOD + "space = []\n",
    "space without values": GOOD + "space = [{dropout = []}]\nfixed = {dropout = 0.5}\n",
    "steps half": GOOD + "space = [{steps = 2.5}]\n",
    "space endless": GOOD + f"space = [{{dropout = {[0.0] * 999}, lambda1 = {[1.0] * 999}}}]\n",
    "rungs": GOOD + '[search]\nmethod = "halving"\nrungs = [{keep = "a", runs = 1}]\n',
    "no rungs": GOOD + '[search]\nmethod = "halving"\n',
    "rungs on one": GOOD + "[[search.on]]\ndatasets = ['cora']\nrungs = 3\n",
    "search on none": GOOD + "[[search.on]]\ndatasets = []\n",
    "search on unknown": GOOD + "[[search.on]]\ndatasets = ['photo']\n",
    "search on twice": GOOD + "[[search.on]]\ndatasets = ['cora']\n" * 2,
    "search unknown": GOOD + "[search]\nspeed = 1\n",
    "seed of the draw": GOOD + "[search]\nseed = -1\n",
    "tolerance": GOOD + '[tolerance]\nstd = "a"\n',
    "notes": 'notes = "text"\n' + GOOD,
    "paper text": GOOD + '[paper.cora]\ngcn = [["a", "b"]]\n',
    "paper number": GOOD + "[paper.cora]\ngcn = 3\n",
    "remark": 'remarks = [{text = "a", datasets = 3}]\n' + GOOD,
    "baseline": "baseline = 3\n" + GOOD,
}


def test_the_study_that_the_others_are_made_from_is_read(tmp_path):
    (tmp_path / "good.toml").write_text(GOOD)
    assert load_spec(str(tmp_path / "good.toml")).datasets == ("cora",)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_study_is_refused_by_name(tmp_path, name):
    path = tmp_path / "study.toml"
    path.write_text(WRONG[name])
    with pytest.raises(ValueError, match=r"study .*study\.toml must be a readable study, got: "):
        load_spec(str(path))


def test_a_study_whose_file_has_a_strange_name_is_refused(tmp_path):
    path = tmp_path / "a b.toml"
    path.write_text(GOOD)
    with pytest.raises(ValueError, match="name of the study must be letters"):
        load_spec(str(path))


def result_with(**changes):
    run = {"run": 0, "seed": 0, "split": "s", "val": 0.5, "test": 0.5, "selected_epoch": 1}
    run |= {"epochs": 2, "seconds": 1.0, "series": {}, "curves": {}} | changes
    return {
        "format": 1,
        "pool": "good",
        "cell": {"dataset": "cora", "level": 0.0, "model": "gcn"},
        "protocol": {},
        "search": "grid",
        "selected": {},
        "environments": [],
        "candidates": [],
        "runs": [run],
    }


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        '{"format": 1}',
        "[" * 100_000,
        json.dumps(result_with(epochs=1.5)),
        json.dumps(result_with(test="a")),
        json.dumps(result_with(val=float("nan"))),
        json.dumps(result_with(series=3)),
        json.dumps(result_with(unknown=3)),
    ],
)
def test_a_wrong_result_is_refused_by_name(tmp_path, content):
    (tmp_path / "good.toml").write_text(GOOD)
    spec = load_spec(str(tmp_path / "good.toml"))
    cell = cells(spec)[0]
    path = result_path(tmp_path, spec, cell)
    path.parent.mkdir()
    path.write_text(json.dumps(result_with()))
    assert read_result(tmp_path, spec, cell).runs[0].epochs == 2
    path.write_text(content)
    with pytest.raises(ValueError, match=r"must be a stored result|must have format"):
        read_result(tmp_path, spec, cell)


@pytest.mark.parametrize("text", ["", "no base64!", "AAAA", "eJwDAAAAAAE="])
def test_a_damaged_curve_is_refused(text):
    if text == "eJwDAAAAAAE=":
        assert unpack_curve(text) == []
        return
    with pytest.raises(ValueError, match="curve must"):
        unpack_curve(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pairs", [[0.6, 1.9]]),
        ("pairs", [[True, 2]]),
        ("pairs", [[0, -1]]),
        ("pairs", [[0, 1, 2]]),
        ("pairs", [[0, 10**30]]),
        ("pairs", 3),
        ("pairs", [3]),
        ("seed", "x"),
        ("loss", ["x"]),
        ("settings", 3),
        ("split", {"train": [0.5], "val": [], "test": []}),
        ("split", 3),
    ],
)
def test_wrong_flips_are_refused_and_nothing_is_rounded(tmp_path, field, value):
    good = {
        **{"format": "elasticgnn perturbation 1", "task": "", "method": "random", "seed": 0},
        **{"settings": {}, "fingerprint": "f", "pairs": [[0, 1]], "loss": [], "split": None},
    }
    path = tmp_path / "flips.json"
    path.write_text(json.dumps(good))
    assert load_perturbation(path).pairs.tolist() == [[0, 1]]
    path.write_text(json.dumps(good | {field: value}))
    with pytest.raises(ValueError, match=r"flips\.json must have all fields"):
        load_perturbation(path)


def test_a_storage_that_is_no_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="storage must be a file, got the folder"):
        storage_url(str(tmp_path))


@pytest.mark.parametrize("address", ["mysql://me:secret@host/db", "postgresql://me:secret@h:x/db"])
def test_a_wrong_address_does_not_show_its_password(address):
    with pytest.raises(ValueError, match="storage must be") as refused:
        storage_url(address)
    assert "secret" not in str(refused.value)
    assert "me:***@" in str(refused.value)


def test_a_server_that_is_not_there_does_not_show_the_password(tmp_path):
    (tmp_path / "good.toml").write_text(GOOD)
    spec = load_spec(str(tmp_path / "good.toml"))
    url = storage_url("postgresql://me:secret@127.0.0.1:1/db")
    with pytest.raises(OSError, match="storage") as refused:
        run_study(spec, WorkPlan(url, tmp_path, None))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("content", [b"this is no database at all, but text of some length" * 40])
def test_a_foreign_file_as_storage_is_named(tmp_path, content):
    (tmp_path / "good.toml").write_text(GOOD)
    spec = load_spec(str(tmp_path / "good.toml"))
    path = tmp_path / "trials.db"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"storage must be an SQLite file .*trials\.db"):
        run_study(spec, WorkPlan(storage_url(str(path)), tmp_path, None))
    with pytest.raises(ValueError, match=r"storage must be an SQLite file .*trials\.db"):
        study_status(spec, storage_url(str(path)), tmp_path)
    assert path.read_bytes() == content
    assert {path.name for path in tmp_path.iterdir()} == {"good.toml", "trials.db"}  # no lock


def test_a_storage_without_its_tables_is_named(tmp_path):
    (tmp_path / "good.toml").write_text(GOOD)
    spec = load_spec(str(tmp_path / "good.toml"))
    path = tmp_path / "trials.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE studies (x INTEGER)")
    with pytest.raises((OSError, ValueError), match="storage"):
        run_study(spec, WorkPlan(storage_url(str(path)), tmp_path, None))
