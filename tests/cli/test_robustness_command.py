"""`elasticgnn robustness`: rows, pages, own files, foreign modules, refusals."""

import json
import re

import pytest

from attack.small_task import own_options, planted_task
from command_calls import run
from elasticgnn import robustness
from elasticgnn.attack import EvolutionSettings
from elasticgnn.robustness.store import Rows


def test_robustness_on_own_files_does_not_depend_on_the_unit_of_features(
    planted, other_unit, attack_cli
):
    words = ["--models", "gcn", "--attacks", "prbcd", "--rates", "0.2", *QUICK, "--json"]
    outputs = [
        json.loads(attack_cli("robustness", *own_options(folder), *words).stdout)
        for folder in (planted, other_unit)
    ]
    left = [[(one["mode"], one["accuracy"]) for one in facts["outcomes"]] for facts in outputs]
    assert left[0] == left[1]
    assert outputs[0]["transfer_matrix"] == outputs[1]["transfer_matrix"]


QUICK = ["--seeds", "1", "--epochs", "10", "--attack-epochs", "4"]
QUICK_EVA = ["--generations", "5", "--screened", "20"]
FEW = ["--models", "gcn", "--seeds", "1", "--epochs", "10"]


def test_robustness_shows_transfer_adaptive_and_worst_rows(attack_cli, monkeypatch, tmp_path):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    words = ["robustness", "planted", "--models", "elastic,gcn,mlp", "--attacks", "dice,prbcd"]
    words += ["--rates", "0,0.2", *QUICK, "--rows", tmp_path / "rows"]
    facts = json.loads(attack_cli(*words, "--plot", tmp_path / "plot.png", "--json").stdout)
    seen = {(o["model"], o["attack"], o["mode"]) for o in facts["outcomes"]}
    assert ("elastic", "prbcd", "adaptive") in seen
    assert ("mlp", "prbcd", "transfer") in seen
    assert ("mlp", "prbcd", "adaptive") not in seen
    assert ("gcn", "all", "worst") in seen
    assert (tmp_path / "plot.png").stat().st_size > 1000
    again = attack_cli(*words)
    assert "seed 0" not in again.stderr  # all rows were there, so nothing was trained
    assert "worst" in again.stdout
    assert "20 %" in again.stdout
    attack_cli(*words, "--report", tmp_path / "page.html")
    stored = attack_cli("report", "--rows", tmp_path / "rows", "-o", tmp_path / "stored.html")
    assert stored.exit_code == 0
    for name in ("page.html", "stored.html"):
        text = (tmp_path / name).read_text()
        assert "<svg" in text
        assert "flips found through" in text
    matrix = json.loads(attack_cli(*words, "--json").stdout)["transfer_matrix"]
    assert {(cell["source"], cell["model"]) for cell in matrix} >= {("gcn", "mlp"), ("", "elastic")}


def test_pages_about_attacks_refuse_what_belongs_to_other_pages(attack_cli, tmp_path):
    with pytest.raises(ValueError, match="rows must be a folder with rows"):
        attack_cli("report", "--rows", tmp_path, "-o", tmp_path / "p.html")
    with pytest.raises(ValueError, match="--quick must be given for a page about studies only"):
        attack_cli("report", "--rows", tmp_path, "--quick", "-o", tmp_path / "p.html")
    with pytest.raises(ValueError, match="--rows must be given for a page about attacks only"):
        attack_cli("report", tmp_path / "m.st", "--rows", tmp_path, "-o", tmp_path / "p.html")


def test_own_files_and_a_foreign_module_are_compared(planted, attack_cli, tmp_path, monkeypatch):
    (tmp_path / "one_layer_of_mine.py").write_text(
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
    words = [
        "robustness",
        *own_options(planted),
        "--models",
        "gcn",
        "--defence",
        "one_layer_of_mine:Mine",
    ]
    words += ["--attacks", "prbcd,eva", "--rates", "0.2", *QUICK, *QUICK_EVA, "--json"]
    words += ["--rows", tmp_path / "rows"]
    first = attack_cli(*words)
    facts = json.loads(first.stdout)
    assert "one_layer_of_mine:Mine hands back no gradient" in first.stderr
    assert attack_cli(*words).stderr == ""  # which is not asked for again
    seen = {(o["model"], o["attack"], o["mode"]) for o in facts["outcomes"]}
    assert ("one_layer_of_mine:Mine", "prbcd", "transfer") in seen
    assert ("one_layer_of_mine:Mine", "prbcd", "adaptive") not in seen  # it hands back no gradient
    assert ("one_layer_of_mine:Mine", "eva", "adaptive") in seen  # which the black box does without
    with pytest.raises(ValueError, match="defence must be"):
        attack_cli("robustness", *own_options(planted), "--defence", "nothing")
    with pytest.raises(ValueError, match="can be imported"):
        attack_cli("robustness", *own_options(planted), "--defence", "no_such_module:X")


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
        ("elastic+", "say something after"),
        ("rung+", "say something after"),
        ("rung-l1:3", "gamma of rung only"),
    ],
)
def test_robustness_refuses_models_it_cannot_read(models, message, attack_cli, monkeypatch):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    with pytest.raises(ValueError, match=message):
        attack_cli("robustness", "planted", "--models", models)


def test_the_effort_of_eva_is_what_the_options_say(attack_cli, monkeypatch):
    asked = []
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    monkeypatch.setattr(
        robustness, "measure_robustness", lambda task, plan, *others: asked.append(plan) or Rows()
    )
    attack_cli("robustness", "planted", "--models", "gcn", "--attacks", "eva")
    words = ["--attacks", "eva"]
    words += ["--generations", "6", "--screened", "7", "--screen-every", "8", "--together", "9"]
    attack_cli("robustness", "planted", "--models", "gcn", *words)
    usual, given = (plan.evolution for plan in asked)
    assert usual == EvolutionSettings()
    assert (given.generations, given.screened) == (6, 7)
    assert (given.screen_every, given.together) == (8, 9)


def test_robustness_refuses_unknown_attacks_and_rates(attack_cli, monkeypatch):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    with pytest.raises(ValueError, match="attacks must be among"):
        attack_cli("robustness", "planted", "--attacks", "other")
    with pytest.raises(ValueError, match="rates must be numbers"):
        attack_cli("robustness", "planted", "--rates", "a")
    with pytest.raises(ValueError, match="targets must be given with --protocol local only, got 3"):
        attack_cli("robustness", "planted", "--targets", "3")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--attacks", "dice", "--restarts", "2"], "--restarts must be given to"),
        (["--attacks", "eva", "--attack-epochs", "4"], "--attack-epochs must be given to"),
        (["--attacks", "pgd,eva", "--block", "99"], "--block must be given to"),
        (["--generations", "4"], "--generations must be given to"),
        (["--together", "4"], "--together must be given to"),
        (["--flips-per-step", "4"], "--flips-per-step must be given to"),
        (
            ["--protocol", "local", "--block", "99"],
            "--block must be left out with --protocol local",
        ),
        (
            ["--protocol", "local", "--attacks", "eva", "--generations", "101"],
            "generations must be <= 100 with --protocol local, got 101",
        ),
        (["--models", "gcn,rung", "--lambda1", "2"], "--lambda1 must go with an elastic model"),
        (["--models", "elastic:l21:1", "--lambda1", "2"], "--lambda1 must go with an elastic"),
        (["--models", "elastic:l21:1:2+mcp", "--lambda2", "2"], "--lambda2 must go with"),
        (["--models", "", "--defence", "torch.nn:Bilinear", "--dropout", "0"], "model of ours"),
    ],
)
def test_an_option_without_use_is_refused(words, message, attack_cli, monkeypatch):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    with pytest.raises(ValueError, match=message):
        attack_cli("robustness", "planted", *words)


@pytest.mark.parametrize("command", ["robustness", "attack", "train"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["citeseer"], "a data set must not be given with --edges, got citeseer"),
        (["--data-root", "/nowhere"], "--data-root must not be given with --edges, got /nowhere"),
    ],
)
def test_a_data_set_beside_own_edges_is_refused(command, words, message, planted, capsys):
    assert run(command, *words, *own_options(planted)) == 2
    assert message in capsys.readouterr().err


def test_the_answer_does_not_depend_on_what_else_is_stored(attack_cli, monkeypatch, tmp_path):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    words = ["robustness", "planted", *FEW, "--attacks", "random", "--rates", "0.2"]
    alone = attack_cli(*words)
    rows = ["--rows", tmp_path]
    for others in (["--rates", "0.1"], ["--attacks", "dice"], ["--seed", "5"]):
        attack_cli(*words, *others, *rows)
    among = attack_cli(*words, *rows)
    assert without_seconds(among.stdout) == without_seconds(alone.stdout)
    assert "note: 4 stored rows of other seeds, attacks or rates are left out" in among.stderr
    again = json.loads(attack_cli(*words, *rows, "--json").stdout)
    assert {one["rate"] for one in again["outcomes"]} == {0, 0.2}


def without_seconds(text):
    return [line.rsplit(maxsplit=1)[0] for line in text.splitlines()]


def test_models_that_no_attack_goes_through_have_their_clean_accuracy(attack_cli, monkeypatch):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    words = ["robustness", "planted", *FEW, "--models", "mlp,elastic+none"]
    lines = attack_cli(*words, "--rates", "0.2").stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["none", "clean", "elastic+none"],
        ["none", "clean", "mlp"],
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--attacks", "random", "--rates", "0.0001"], "random at 0.01 % is no flip at all"),
        (["--attack-epochs", "3", "--block", "5"], r"prbcd at 50 % made \d of \d+ flips .*--block"),
        (["--attacks", "lrbcd", "--attack-epochs", "3", "--rates", "3"], "lrbcd at 300 % made"),
    ],
)
def test_less_than_the_budget_is_noted(words, message, attack_cli, monkeypatch, tmp_path):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    words = ["robustness", "planted", *FEW, "--rates", "0.5", *words, "--rows", tmp_path]
    for _ in range(2):  # of stored rows, too
        assert re.search(f"note: {message}", attack_cli(*words).stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--attacks", "prbcd,shipped"], "shipped attacks must be used on the component of cora"),
        (["--protocol", "local", "--public-targets"], "public targets must be used on one of"),
        (["--rates", "1000"], "rates must stand for at most the 1770 pairs"),
        (["--protocol", "local", "--rates", "0.1,70"], "fewer flips at a target than the 60 nodes"),
        (["--attacks", "dice,metattack"], r"fit protocol 'evasion' \(random, dice, .*metattack"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_trained(
    words, message, attack_cli, monkeypatch
):
    monkeypatch.setattr("elasticgnn.data.load", lambda name, root: planted_task())
    monkeypatch.setattr("elasticgnn.robustness.contestant.Contestant.train", None)
    with pytest.raises(ValueError, match=message):
        attack_cli("robustness", "planted", *words)
