"""From own files to a page, roles and reasons, by the commands a person types."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from elasticgnn.cli.__main__ import build_app

TRANSFERS = Path(__file__).parents[2] / "examples" / "transfers"
OWN = ("--features", TRANSFERS / "accounts.csv")
KNOWN = ("--labels", TRANSFERS / "verdicts.csv")


def run(*words):
    done = CliRunner().invoke(build_app(), [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a model trained with given settings, and the page about it."""
    folder = tmp_path_factory.mktemp("explained")
    own = ("--edges", TRANSFERS / "transfers.csv", *OWN, *KNOWN)
    settings = ("--model", "elastic", "--splits", 2, "--epochs", 8)
    files = ("-o", folder / "m.safetensors", "--report", folder / "trained.html", "--json")
    facts = json.loads(run("train", *own, *settings, *files))
    assert facts["report"] == str(folder / "trained.html")
    return folder


def test_report_of_a_model_file_is_the_page_of_its_training(made):
    files = ("-o", made / "r", "--plot", made / "worth.svg")
    run("report", made / "m.safetensors", TRANSFERS / "transfers.csv", *OWN, *KNOWN, *files)
    assert (made / "worth.svg").read_text("utf-8").count("<path") > 20
    later, first = (made / "r").read_text("utf-8"), (made / "trained.html").read_text("utf-8")
    start = first.index('id="packed"')
    assert later[later.index('id="packed"') :] == first[start:]
    facts = json.loads(first[first.index('id="data">') + 10 : first.index("</script>")])
    assert facts["evidence"]["estimate"]["nodes"] == 120  # 40 % of 300 verdicts were held out
    assert len(facts["evidence"]["curves"]) == 2


def test_predict_says_the_role_of_each_node(made):
    out = made / "p.csv"
    run("predict", made / "m.safetensors", TRANSFERS / "transfers.csv", *OWN, "-o", out)
    with out.open() as file:
        roles = {row["node"]: row["role"] for row in csv.DictReader(file)}
    with (TRANSFERS / "verdicts.csv").open() as file:
        verdicts = {row["id"] for row in csv.DictReader(file)}
    assert {node for node, role in roles.items() if role != "unknown"} == verdicts
    assert list(roles.values()).count("held out") == 120


def test_explain_prints_and_draws_what_moved_a_node(made):
    words = ("explain", made / "m.safetensors", TRANSFERS / "transfers.csv", "acc0100", *OWN)
    printed = run(*words, "--plot", made / "why.svg", "--top", 2)
    assert "neighbours (2 of 8), points their edges add:" in printed
    own = ("age_days = 366", "transfers_per_week = 6", "share_abroad = 0.259", "balance = 291")
    assert sum(value in printed for value in own) == 2  # as they stand in the file
    assert (made / "why.svg").read_text("utf-8").count("<path") > 20
    known = json.loads(run(*words, "--json"))
    effects = [abs(part["effect"]) for part in known["neighbours"]]
    assert len(effects) == known["num_neighbours"] == 8
    assert effects == sorted(effects, reverse=True)
    assert known["method"].startswith("occlusion, exact")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("explain", "m.safetensors", "nobody"),
            r"node must be an id of .* \('acc\d+', .*, got 'nobody'",
        ),
        (("explain", "m.safetensors", "ACC0100"), r"got 'ACC0100' \(there is 'acc0100'\)"),
        (("explain", "m.safetensors", "acc0100", "--plot", "x.txt"), "plot must end in one of"),
        (("report", "m.safetensors", "--quick"), "--quick must be given for a page about studies"),
        (("report", "m.safetensors", "--plot", "x.txt"), "plot must end in one of"),
        (("report", "--labels", "x.csv"), "--labels must be given for a page about a model"),
    ],
)
def test_what_does_not_fit_is_refused(made, words, message, monkeypatch):
    monkeypatch.chdir(made)
    command, *rest = words
    if "m.safetensors" in rest:
        rest.insert(1, TRANSFERS / "transfers.csv")
        rest += [*OWN]
    with pytest.raises(ValueError, match=message):
        run(command, *rest)
