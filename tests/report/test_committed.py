"""What is committed: recomputed by a script that shares no line with the package."""

import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from elasticgnn.experiment import Cell, load_spec, read_result, spec_names
from elasticgnn.experiment.search import drawn
from elasticgnn.experiment.spec_file import SPECS
from elasticgnn.report import build_table
from elasticgnn.report.publish import publish

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    not (ROOT / "results").is_dir(), reason="an unpacked archive has no results"
)


def check(results):
    command = [sys.executable, "-I", str(ROOT / "scripts" / "check_results.py"), str(results)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def copied(tmp_path):
    return Path(shutil.copytree(ROOT / "results", tmp_path / "results"))


def test_tables_verdicts_and_claims_follow_from_the_cells():
    done = check(ROOT / "results")
    assert done.returncode == 0, done.stdout
    assert "0 differ" in done.stdout


def test_the_check_sees_a_changed_number_a_changed_verdict_and_a_changed_claim(copied):
    cell = copied / "table2-16" / "cora-0.1-gcn.json"
    table = json.loads(cell.read_text())
    table["runs"][0]["test"] += 0.02
    cell.write_text(json.dumps(table))
    csv = copied / "table1.csv"
    csv.write_text(csv.read_text().replace(",within,", ",above,", 1))
    claims = copied / "claims.json"
    claims.write_text(claims.read_text().replace('"partly"', '"confirmed"', 1))
    done = check(copied)
    assert done.returncode == 1
    for part in ("table2-16 ('cora', 0.1, 'gcn') mean", "verdict: committed 'above'", "claim"):
        assert part in done.stdout


def one_of(cell, runs):
    return next(row for row in cell["candidates"] if row["runs"] == runs)


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        ("sgc", lambda cell: None, ""),
        ("elastic", lambda cell: None, ""),
        ("sgc", lambda cell: cell["candidates"].pop(4), "not those that the rule draws"),
        ("sgc", lambda cell: cell["rule"].update(seed=1), "the cell's rule is"),
        ("appnp", lambda cell: one_of(cell, runs=1).update(runs=3), "reached the rungs"),
    ],
)
def test_the_check_draws_the_settings_of_a_search_anew(copied, model, change, message):
    path = copied / "table1" / f"pubmed-0-{model}.json"
    cell = json.loads(path.read_text())
    spec = load_spec("table1")
    cell["rule"] = spec.search_on("pubmed").to_json()
    change(cell)
    path.write_text(json.dumps(cell))
    done = check(copied)
    assert (done.returncode == 1) == bool(message)
    assert message in done.stdout


@pytest.mark.parametrize("model", ["sgc", "appnp", "elastic", "gat"])
def test_the_check_and_the_package_draw_the_same_settings(model):
    mine = runpy.run_path(str(ROOT / "scripts" / "check_searches.py"))
    table = tomllib.loads((SPECS / "table1.toml").read_text("utf-8"))
    spec = load_spec("table1")
    plan = spec.search_on("physics")
    settings = drawn(spec.model(model).settings, plan.rungs[0].keep, plan.seed)
    rows = [mine["DEFAULTS"] | setting.to_json() for setting in settings]
    assert mine["drawn"](mine["space_of"](table, model), 48, plan.seed) == rows
    assert len(rows) == min(48, len(spec.model(model).settings))


def test_publishing_again_changes_nothing(copied, tmp_path):
    pages = [tmp_path / name for name in ("reproduce.md", "reproduce_details.md")]
    for page in pages:
        shutil.copy(ROOT / "docs" / page.name, page)
    publish([build_table(load_spec(name), copied) for name in spec_names()], copied, pages)
    for page in pages:
        assert page.read_text() == (ROOT / "docs" / page.name).read_text()
    for path in sorted((ROOT / "results").glob("*.[cmt]*")):
        if path.suffix in (".csv", ".md", ".tex"):
            assert (copied / path.name).read_text() == path.read_text(), path.name


def pages_text():
    """Both pages about the paper's tables, verdicts first."""
    names = ("reproduce.md", "reproduce_details.md")
    return "\n".join((ROOT / "docs" / name).read_text("utf-8") for name in names)


def read(name):
    return json.loads((ROOT / "results" / name).read_text())


def test_what_the_page_says_in_words_is_in_the_records():
    l2 = [json.loads(path.read_text()) for path in (ROOT / "results/table2-16").glob("*-l2.json")]
    alone = [cell["selected"]["lambda2"] for cell in l2 if cell["cell"]["model"] == "l2"]
    assert len(alone) == 20
    assert sum(value not in (0.0, 3.0, 6.0, 9.0) for value in alone) == 12
    assert {cell["protocol"]["hidden_channels"] for cell in l2} == {16}
    polblogs = [read(f"table2-16/polblogs-{rate}-l2.json") for rate in ("0.05", "0.1")]
    nines = [row for cell in polblogs for row in cell["candidates"] if row["lambda2"] == 9.0]
    assert [(row["runs"], round(100 * row["test"], 1)) for row in nines] == [(10, 71.9), (10, 71.0)]
    grid = read("table1/cora-0-elastic.json")["candidates"]
    best = max(grid, key=lambda row: row["val"])
    without = max((row for row in grid if row["lambda1"] == 0), key=lambda row: row["val"])
    rounded = [round(100 * row[name], 1) for row in (without, best) for name in ("test", "val")]
    assert rounded == [83.1, 85.3, 83.2, 85.4]


def test_every_cell_of_gat_drops_attention_out_as_the_page_says():
    text = pages_text()
    cells = [json.loads(path.read_text()) for path in (ROOT / "results/table1").glob("*-gat.json")]
    named = {c["cell"]["dataset"] for c in cells if "attention_dropout" in c["selected"]}
    assert named == set(load_spec("table1").datasets)
    assert "its search drops out attention coefficients at the rate of the inputs" in text


def test_the_page_says_what_is_run_of_table_2_and_how_gat_fares():
    text = pages_text()
    means = [mean_test(f"{name}/cora-0-gat.json") for name in ("table2", "table2-16")]
    assert [round(mean, 1) for mean in means] == [84.0, 83.0]
    found = [path.stem for path in (ROOT / "results/table2").glob("*.json")]
    counts = Counter(name.split("-")[0] for name in found)
    assert counts == {"cora": 35, "citeseer": 35, "polblogs": 35, "pubmed": 35}
    assert f"All {len(found)} cells are run" in text


def test_the_page_says_what_explains_the_cells_of_table_2_that_differ():
    text = pages_text()
    verdicts = text.partition("### table2-16")[0]
    lines = verdicts.partition("### table2:")[2].splitlines()
    of_gcn = [line for line in lines if line.startswith("* ") and ", GCN:" in line]
    explained = [line for line in of_gcn if re.search(r"uniform [^;]*, within", line)]
    assert len(explained) == 9
    of_pubmed = [line for line in of_gcn if line not in explained]
    assert [line[:8] for line in of_pubmed] == 2 * ["* pubmed"]
    assert all(re.search(r"64 hidden units, 200 [^;]*, within", line) for line in of_pubmed)
    of_gat = [line for line in lines if line.startswith("* polblogs") and ", GAT:" in line]
    explained = [line.partition(",")[0] for line in of_gat if ", within" in line]
    assert len(of_gat) == 3
    assert explained == ["* polblogs 20 %"]
    rows = read("table2_causes.json")["rows"]
    means = {(row["dataset"], row["level"]): row["mean"] for row in rows if "inf" in row["changed"]}
    of_elastic = [line for line in lines if re.match(r"\* .* %, l[^:]*:", line)]
    within = [line for line in of_elastic if re.search("By experiment: .*, within[;.]", line)]
    assert (len(of_elastic), len(within)) == (23, 23)
    assert "the 23 that differ with 64 are all within by one of these changes" in text
    of_alpha = {
        (row["dataset"], row["level"]): row["mean"] for row in rows if "alpha" in row["changed"]
    }
    numbers = [of_alpha["cora", 0.2], mean_test("table2/cora-0.2-l2.json")]
    numbers += [of_alpha["pubmed", 0.2], mean_test("table2/pubmed-0.2-l2.json")]
    assert "({:.1f} instead of {:.1f}, and {:.1f} instead of {:.1f})".format(*numbers) in text
    dropped = {round(row["mean"], 1) for row in rows if row["changed"].endswith("not selected")}
    assert dropped == {72.8, 95.5}
    own_rates = [row for row in rows if "GAT's own" in row["changed"] and row["level"] == 0.05]
    assert f"5 % has {max(row['mean'] for row in own_rates):.1f}, nearer to the published" in text
    assert round(means["polblogs", 0.05], 1) == 83.1
    assert round(means["polblogs", 0.1], 1) == 73.8


def test_gcn_and_gat_of_table_2_are_another_papers_numbers_but_for_two():
    paper = tomllib.loads((SPECS / "table2.toml").read_text("utf-8"))["paper"]
    theirs = read("table2_published.json")
    columns = [(data, model) for data in ("cora", "citeseer", "pubmed") for model in ("gcn", "gat")]
    differing = [
        (data, model, ours, number)
        for data, model in columns
        for printed, pair in zip(paper[data][model], theirs[data][model], strict=True)
        for ours, number in zip(printed, pair, strict=True)
        if abs(ours - number) > 0.05 + 1e-9
    ]
    assert differing == [("cora", "gcn", 60.0, 59.56), ("cora", "gat", 0.6, 0.92)]
    text = pages_text()
    assert f"in {60 - len(differing)} of the 60 means and deviations" in text


def test_the_page_says_what_divided_rows_change_in_table_1():
    text = " ".join(pages_text().split())
    complete = ("cs", "physics", "photo")
    (near, far), (near_raw, far_raw) = (distance(n, complete) for n in ("table1-divided", "table1"))
    assert f"{near} of 20 cells are within two of the paper's deviations with divided rows" in text
    assert f"and {near_raw} with stored ones, and the mean distance" in text
    assert f"is {far:.2f} points instead of {far_raw:.2f}" in text
    for name, words in (("cs", "{:.1f} on CS with divided"), ("physics", "on Physics {:.1f} (")):
        assert words.format(mean_test(f"table1-divided/{name}-0-elastic.json")) in text
    lines = section_of("table1").splitlines()
    differing = [line for line in lines if re.match(r"\* [a-z]+, ", line)]
    within = [line for line in differing if re.search("By experiment: rows .*, within[;.]", line)]
    assert [line.partition(":")[0] for line in differing if line not in within] == [
        "* cora, ChebNet"
    ]
    assert len(within) == 7
    assert f"finds {mean_test('table1/cora-0-cheb.json'):.1f} and the paper has 76.3 ± 1.5" in text


def test_dropout_is_what_puts_chebnet_above_the_paper_on_cora():
    grid = read("table1/cora-0-cheb.json")["candidates"]
    low, high = ([row for row in grid if row["dropout"] == rate] for rate in (0.5, 0.8))
    tests = [sorted(round(100 * row["test"], 1) for row in rows) for rows in (low, high)]
    limit = 76.3 + 2 * 1.5
    within = [sum(100 * row["test"] <= limit + 1e-9 for row in rows) for rows in (low, high)]
    assert within == [9, 3]
    best = [max(row["val"] for row in rows) for rows in (low, high)]
    text = " ".join(pages_text().split())
    assert f"0.5 are within ({tests[0][0]} to {tests[0][-1]})" in text
    assert f"three are ({tests[1][0]} to {tests[1][-1]})" in text
    assert f"0.8, by {100 * (best[1] - best[0]):.1f} points between the best of each" in text
    assert f"dropout 0.5 are within, {tests[0][0]} to {tests[0][-1]}." in section_of("table1")


def test_how_far_gat_on_pubmed_is_above_the_paper_of_table_2():
    for study, words in (("table2", "is 2 to 8 points above"), ("table2-16", "(2 to 9 with 16")):
        paper = load_spec(study).paper
        far = [
            mean_test(f"{study}/pubmed-{level:g}-gat.json") - paper["pubmed", "gat", level].mean
            for level in load_spec(study).levels
        ]
        assert far == sorted(far)
        assert f"{far[0]:.0f} to {far[-1]:.0f}" in words
        assert words in " ".join(pages_text().split())


def test_every_model_has_the_whole_grid_on_cora():
    spec = load_spec("table1")
    for model in spec.models:
        result = read_result(ROOT / "results", spec, Cell("cora", 0.0, model.name))
        assert result.search == "grid"
        assert len(result.candidates) == len(model.settings)
        assert {candidate.runs for candidate in result.candidates} == {10}


def section_of(study):
    """The generated part of the page about a study."""
    text = pages_text()
    return text.partition(f"### {study}:")[2].partition("\n### ")[0]


def distance(study, datasets):
    """How many cells are within two deviations, and the mean distance from the paper."""
    table = build_table(load_spec(study).restricted(datasets), ROOT / "results")
    judged = table.judged()
    assert len(judged) == 20
    far = [abs(entry.ours.mean - entry.published.mean) for entry in judged]
    return table.within(judged, 2.0), sum(far) / len(far)


def mean_test(name):
    runs = read(name)["runs"]
    return 100 * sum(run["test"] for run in runs) / len(runs)
