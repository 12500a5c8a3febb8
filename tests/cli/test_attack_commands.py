"""`elasticgnn attack`, `inspect` and `robustness` on small files, by hand and by machine."""

import csv
import json
from dataclasses import replace

import pytest
import torch
import typer
from typer.testing import CliRunner

from attack.small_task import planted_task, write_planted
from elasticgnn.attack import load_perturbation
from elasticgnn.attack.victim import Victim
from elasticgnn.cli import attack as attack_module
from elasticgnn.cli import inspect as inspect_module
from elasticgnn.cli import report as report_module
from elasticgnn.cli import robustness as robustness_module
from elasticgnn.data import read_task, share_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model, trained_on
from elasticgnn.training.model.preparation import prepared_own


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_planted(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def other_unit(tmp_path_factory):
    return write_planted(tmp_path_factory.mktemp("unit"), scale=1024)


def own(folder):
    return [f"--{name}={folder}/{name}.csv" for name in ("edges", "features", "labels")]


@pytest.fixture
def run():
    app = typer.Typer()
    for module in (attack_module, inspect_module, robustness_module, report_module):
        module.register(app)

    def call(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.mark.parametrize("method", ["metattack", "random", "dice"])
def test_attack_saves_flips_that_can_be_loaded(method, files, run, tmp_path):
    path = tmp_path / "flips.json"
    words = ["attack", *own(files), "--method", method, "--rate", "0.05", "-o", path, "--json"]
    facts = json.loads(run(*words).stdout)
    found = load_perturbation(path)
    assert found.method == method == facts["method"]
    assert len(found) == facts["flips"] == facts["inserted"] + facts["removed"] > 0


def test_attack_speaks_plainly_without_json(files, run):
    words = ("--flips", "2", "--method", "prbcd", "--block", "100")
    printed = run("attack", *own(files), *words).stdout
    assert "prbcd on" in printed
    assert "flips (" in printed


def test_single_nodes_are_attacked_and_victims_may_train_on(files, run, tmp_path):
    words = ["attack", *own(files), "--method", "grbcd", "--flips", "2", "--block", "2000"]
    words += ["--targets", "n5", "--around", "--poison", "-o", tmp_path / "flips.json"]
    run(*words)
    found = load_perturbation(tmp_path / "flips.json")
    names = read_task(files / "edges.csv", files / "features.csv").node_ids
    assert all(names.index("n5") in pair for pair in found.pairs.tolist())
    assert found.settings["poisoning.steps"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "prbcd", "--targets", "5"], "targets must be ids .*, got '5'"),
        (["--method", "prbcd", "--targets", "n1,n999"], "targets must be ids .*, got 'n999'"),
        (["--method", "dice", "--targets", "1"], "targets must be given to"),
        (["--method", "metattack", "--poison"], "--around and --poison must be given to"),
    ],
)
def test_aims_that_make_no_sense_are_refused(words, message, files, run):
    with pytest.raises(ValueError, match=message):
        run("attack", *own(files), *words)


def test_nodes_of_a_data_set_are_attacked_by_number(run, monkeypatch, tmp_path):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    words = ["attack", "planted", "--method", "grbcd", "--flips", "1", "--block", "500"]
    run(*words, "--targets", "5", "--around", "-o", tmp_path / "flips.json")
    assert 5 in load_perturbation(tmp_path / "flips.json").pairs[0].tolist()
    with pytest.raises(ValueError, match=r"targets must be numbers in 0\.\.59, .*got '60'"):
        run(*words, "--targets", "60")


@pytest.mark.parametrize("method", ["metattack", "grbcd"])
def test_flips_on_own_files_do_not_depend_on_the_unit_of_features(
    method, files, other_unit, run, tmp_path
):
    """Features are prepared as `train` does it."""
    words = ["--method", method, "--flips", "3", "-o", tmp_path / "flips.json"]
    words += ["--block", "500"] if method == "grbcd" else []
    found = []
    for folder in (files, other_unit):
        run("attack", *own(folder), *words)
        found.append(load_perturbation(tmp_path / "flips.json"))
    assert found[0].loss == found[1].loss
    assert torch.equal(found[0].pairs, found[1].pairs)


def test_robustness_on_own_files_does_not_depend_on_the_unit_of_features(files, other_unit, run):
    words = ["--models", "gcn", "--attacks", "prbcd", "--rates", "0.2", *QUICK, "--json"]
    outputs = [
        json.loads(run("robustness", *own(folder), *words).stdout) for folder in (files, other_unit)
    ]
    left = [[(one["mode"], one["accuracy"]) for one in facts["outcomes"]] for facts in outputs]
    assert left[0] == left[1]
    assert outputs[0]["transfer_matrix"] == outputs[1]["transfer_matrix"]


def test_the_model_of_a_file_is_attacked_as_it_was_fed(files, other_unit, run, tmp_path):
    """Its columns by name, prepared as for its training, and its classes."""
    parts = [other_unit / f"{name}.csv" for name in ("edges", "features", "labels")]
    task, generator = read_task(*parts), torch.Generator().manual_seed(0)
    ready, preparation = prepared_own(task)
    model = make_model("gcn", ready, generator)
    fit(model, ready, share_split(task.labels, generator), TrainingPlan(epochs=60), generator)
    trained = replace(trained_on(task, model, ModelSettings("gcn")), preparation=preparation)
    trained.save(tmp_path / "m.st")
    right = (trained.predict(task).label == task.labels).float().mean()
    text = [line.split(",") for line in (other_unit / "features.csv").read_text().splitlines()]
    reversed_columns = "\n".join(",".join([row[0], *row[:0:-1]]) for row in text)
    (tmp_path / "features.csv").write_text(reversed_columns)
    words = [
        own(other_unit)[0],
        own(tmp_path)[1],
        own(other_unit)[2],
        "--victim",
        tmp_path / "m.st",
    ]
    every = ",".join(task.node_ids)
    words += ["--method", "prbcd", "--flips", "1", "--targets", every, "--loss", "cross_entropy"]
    output = run("attack", *words, "--attack-epochs", "1", "--block", "10", "--json").stdout
    victim = Victim(model, ready, torch.arange(task.num_nodes), loss="cross_entropy")
    assert right > 0.9
    assert json.loads(output)["loss_before"] == pytest.approx(
        float(victim.loss(ready.graph).detach()), abs=1e-4
    )


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("metattack", "--victim=gcn"),
        ("dice", "--loss=cross_entropy"),
        ("pgd", "--block=9"),
        ("prbcd", "--generations=3"),
        ("eva", "--attack-epochs=3"),
        ("eva", "--objective=self"),
    ],
)
def test_options_without_effect_are_refused(method, option, files, run):
    with pytest.raises(ValueError, match=rf"{option.split('=')[0]} must be given to .* only"):
        run("attack", *own(files), "--method", method, option)


def test_attack_refuses_unknown_methods(files, run):
    with pytest.raises(ValueError, match="method must be one of"):
        run("attack", *own(files), "--method", "other")


@pytest.fixture(scope="module")
def model_file(files):
    task = read_task(files / "edges.csv", files / "features.csv", files / "labels.csv")
    settings = ModelSettings("elastic", lambda1=1.0)
    generator = torch.Generator().manual_seed(0)
    model = make_model(settings, task, generator)
    fit(model, task, share_split(task.labels, generator), TrainingPlan(epochs=30), generator)
    trained_on(task, model, settings).save(files / "model.safetensors")
    return files / "model.safetensors"


def test_inspect_ranks_every_edge(files, model_file, run, tmp_path):
    words = ["inspect", model_file, files / "edges.csv", *own(files)[1:]]
    facts = json.loads(run(*words, "-o", tmp_path / "ranked.csv", "--json").stdout)
    with (tmp_path / "ranked.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == facts["edges"]
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["source"].startswith("n")
    assert rows[0]["source_class"].startswith("c")
    assert rows[0]["score"] == str(facts["worst"][0]["score"])


def test_inspect_drops_the_worst_and_measures_a_gcn(files, model_file, run, tmp_path):
    words = ["inspect", model_file, files / "edges.csv", *own(files)[1:], "--drop", "5"]
    printed = run(*words, "--cleaned", tmp_path / "cleaned.csv").stdout
    before = len((files / "edges.csv").read_text().splitlines())
    assert len((tmp_path / "cleaned.csv").read_text().splitlines()) == before - 5
    assert "GCN without the 5 worst" in printed


def test_cleaned_graph_is_written_beside_the_ranking(files, model_file, run, tmp_path):
    words = ["inspect", model_file, files / "edges.csv", *own(files)[1:], "--drop", "5"]
    facts = json.loads(run(*words, "-o", tmp_path / "ranked.csv", "--json").stdout)
    assert facts["cleaned"] == str(tmp_path / "ranked_cleaned.csv")
    assert (tmp_path / "ranked_cleaned.csv").exists()


def test_inspect_without_edges_takes_the_data_that_the_model_was_trained_on(
    model_file, run, monkeypatch
):
    with pytest.raises(ValueError, match="edges must be given for a model"):
        run("inspect", model_file)
    name = read_model_name(model_file)
    monkeypatch.setattr("elasticgnn.data.catalogue", lambda: {name: None})
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    facts = json.loads(run("inspect", model_file, "--json").stdout)
    assert facts["edges"] == planted_task().graph.num_edges


def read_model_name(path):
    from elasticgnn.training import TrainedModel

    return TrainedModel.load(path).data["name"]


def test_inspect_grades_itself_on_known_flips(files, model_file, run, tmp_path):
    run("attack", *own(files), "--method", "dice", "--rate", "0.2", "-o", tmp_path / "flips.json")
    words = ["inspect", model_file, files / "edges.csv", *own(files)[1:], "--json"]
    facts = json.loads(run(*words, "--attack", tmp_path / "flips.json").stdout)
    assert facts["inserted"] > 0
    assert 0.5 < facts["roc_area"] <= 1


QUICK = ["--seeds", "1", "--epochs", "10", "--attack-epochs", "4", "--generations", "5"]
QUICK += ["--screened", "20"]


def test_robustness_shows_transfer_adaptive_and_worst_rows(run, monkeypatch, tmp_path):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    words = ["robustness", "planted", "--models", "elastic,gcn,mlp", "--attacks", "dice,prbcd"]
    words += ["--rates", "0,0.2", *QUICK, "--rows", tmp_path / "rows"]
    facts = json.loads(run(*words, "--plot", tmp_path / "plot.png", "--json").stdout)
    seen = {(o["model"], o["attack"], o["mode"]) for o in facts["outcomes"]}
    assert ("elastic", "prbcd", "adaptive") in seen
    assert ("mlp", "prbcd", "transfer") in seen
    assert ("mlp", "prbcd", "adaptive") not in seen
    assert ("gcn", "all", "worst") in seen
    assert (tmp_path / "plot.png").stat().st_size > 1000
    again = run(*words)
    assert "seed 0" not in again.stderr  # all rows were there, so nothing was trained
    assert "worst" in again.stdout
    assert "20 %" in again.stdout
    run(*words, "--report", tmp_path / "page.html")
    stored = run("report", "--rows", tmp_path / "rows", "-o", tmp_path / "stored.html")
    assert stored.exit_code == 0
    for name in ("page.html", "stored.html"):
        text = (tmp_path / name).read_text()
        assert "<svg" in text
        assert "flips found through" in text
    matrix = json.loads(run(*words, "--json").stdout)["transfer_matrix"]
    assert {(cell["source"], cell["model"]) for cell in matrix} >= {("gcn", "mlp"), ("", "elastic")}


def test_pages_about_attacks_refuse_what_belongs_to_other_pages(run, tmp_path):
    with pytest.raises(ValueError, match="rows must be a folder with rows"):
        run("report", "--rows", tmp_path, "-o", tmp_path / "p.html")
    with pytest.raises(ValueError, match="--quick must be given for a page about studies only"):
        run("report", "--rows", tmp_path, "--quick", "-o", tmp_path / "p.html")
    with pytest.raises(ValueError, match="--rows must be given for a page about attacks only"):
        run("report", tmp_path / "m.st", "--rows", tmp_path, "-o", tmp_path / "p.html")


def test_own_files_and_a_foreign_module_are_compared(files, run, tmp_path, monkeypatch):
    (tmp_path / "my_defence.py").write_text(
        "from torch import nn\n"
        "class Mine(nn.Module):\n"
        "    def __init__(self, i, o):\n"
        "        super().__init__()\n"
        "        self.linear = nn.Linear(i, o)\n"
        "    def forward(self, x, edge_index):\n"
        "        h = self.linear(x)\n"
        "        return h.index_add(0, edge_index[0], h[edge_index[1]])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    words = ["robustness", *own(files), "--models", "gcn", "--defence", "my_defence:Mine"]
    words += ["--attacks", "prbcd,eva", "--rates", "0.2", *QUICK, "--json"]
    words += ["--rows", tmp_path / "rows"]
    first = run(*words)
    facts = json.loads(first.stdout)
    assert "my_defence:Mine hands back no gradient" in first.stderr
    assert run(*words).stderr == ""  # which is not asked for again
    seen = {(o["model"], o["attack"], o["mode"]) for o in facts["outcomes"]}
    assert ("my_defence:Mine", "prbcd", "transfer") in seen
    assert ("my_defence:Mine", "prbcd", "adaptive") not in seen  # it hands back no gradient
    assert ("my_defence:Mine", "eva", "adaptive") in seen  # which the black box does without
    with pytest.raises(ValueError, match="defence must be"):
        run("robustness", *own(files), "--defence", "nothing")
    with pytest.raises(ValueError, match="can be imported"):
        run("robustness", *own(files), "--defence", "no_such_module:X")


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("gcn:mcp", "penalty of elastic only"),
        ("elastic+other", r"elastic\+mcp"),
        ("elastic:mcp:a", "numbers after the norm"),
        ("other", "name must be one of"),
        ("rung:a", "numbers after"),
        ("jaccard:3", "gamma of rung only"),
        ("gnnguard+adversarial", r"gprgnn\+adversarial"),
        ("elastic+trust:2", "chance in"),
        ("gcn,gcn", "different names"),
    ],
)
def test_robustness_refuses_models_it_cannot_read(models, message, run, monkeypatch):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    with pytest.raises(ValueError, match=message):
        run("robustness", "planted", "--models", models)


def test_robustness_refuses_unknown_attacks_and_rates(run, monkeypatch):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    with pytest.raises(ValueError, match="attacks must be among"):
        run("robustness", "planted", "--attacks", "other")
    with pytest.raises(ValueError, match="rates must be numbers"):
        run("robustness", "planted", "--rates", "a")
