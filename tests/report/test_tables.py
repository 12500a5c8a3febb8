"""Tables from stored results: every format says the same, and says what is missing."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from elasticgnn.experiment import Cell, load_spec, read_result, summarize
from elasticgnn.experiment.results import Candidate, CellResult
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.spec import Remark
from elasticgnn.report import build_table
from elasticgnn.report.blocks import markers, with_blocks
from elasticgnn.report.export import export_study
from elasticgnn.report.publish import publish, summary_text
from elasticgnn.report.render import matrix, print_table, to_csv, to_latex, to_markdown, to_rows
from elasticgnn.report.searched import searched_text
from elasticgnn.report.statistics import word
from elasticgnn.report.table import Table, are_comparable, build_entry, paired_runs
from made_up_records import made_up_record


@pytest.fixture
def table2(results):
    return build_table(load_spec("table2"), results)


def test_cells_are_judged_against_the_paper(table2):
    assert table2.entry("cora", 0.05, "gcn").verdict == "within"
    assert table2.entry("cora", 0.05, "gat").verdict == "above"
    assert table2.entry("cora", 0.05, "l1").verdict == "below"
    assert table2.entry("pubmed", 0.05, "l1").verdict == "not run"


def test_the_agreement_counts_the_cells_that_were_run_and_names_rivals_above(table2):
    rates = ("0", "5", "10", "15", "20")
    above = [f"{name} {rate} % GAT" for name in ("cora", "citeseer", "polblogs") for rate in rates]
    assert table2.agreement() == (
        "75 of 105 cells within one of the paper's deviations, 75 within two; "
        "the paper's own models 60 and 60 of 75; rivals 15 and 15 of 30. "
        f"Above: 15 of rivals ({', '.join(above)}). Below: 15 of the paper's own. Not run: 35."
    )


@pytest.mark.parametrize(
    ("distance", "one", "two"), [(0.8, 1, 1), (-1.0, 0, 1), (1.7, 0, 1), (1.9, 0, 0), (-1.9, 0, 0)]
)
def test_one_and_two_deviations_are_counted_apart(table2, distance, one, two):
    entry = table2.entry("cora", 0.1, "l21")  # 77.9 ± 0.9 in the paper
    moved = [replace(entry, ours=summarize([77.9 + distance]))]
    assert [table2.within(moved, deviations) for deviations in (1.0, 2.0)] == [one, two]


def test_half_a_point_is_near_enough_whatever_the_deviation(table2):
    entry = table2.entry("polblogs", 0.0, "l21")  # 95.8 ± 0.3
    for distance, count in ((0.45, 1), (0.55, 0)):
        moved = [replace(entry, ours=summarize([entry.published.mean - distance]))]
        assert table2.within(moved, 1.0) == count


def test_without_results_there_is_nothing_to_compare_yet(tmp_path):
    sentence = build_table(load_spec("table2"), tmp_path).agreement()
    assert sentence == "0 of 140 cells run; nothing to compare yet."


def test_differences_are_paired_with_the_baseline_of_the_same_row(table2):
    entry = table2.entry("cora", 0.1, "l21")
    assert entry.against_baseline.mean == pytest.approx(77.9 - 76.3)
    assert entry.against_baseline.deviation == pytest.approx(0.0, abs=1e-6)
    assert table2.entry("cora", 0.1, "l2").against_baseline is None


def test_csv_has_one_line_per_cell_with_all_numbers(table2):
    rows = list(csv.DictReader(io.StringIO(to_csv(table2))))
    assert len(rows) == 140
    row = next(
        r for r in rows if (r["dataset"], r["level"], r["model"]) == ("cora", "0.1000", "l21")
    )
    assert float(row["paper_mean"]) == 77.9
    assert float(row["mean"]) == pytest.approx(78.2, abs=0.1)
    assert float(row["low"]) < float(row["mean"]) < float(row["high"])
    assert row["verdict"] == "within"


def test_markdown_shows_ours_beside_the_papers_and_says_how_they_compare(table2):
    text = to_markdown(table2)
    assert "| cora 10 % |" in text
    assert "(77.9 ± 0.9) =" in text
    assert "paired difference to l2" in text
    assert "75 of 105 cells within one" in text
    for note in table2.spec.notes:
        assert note in text


def test_a_cell_with_other_than_the_studys_runs_says_so(results):
    spec = load_spec("table2")
    twenty = replace(spec, protocol=replace(spec.protocol, runs=20))
    assert " [10 runs] (77.9 ± 0.9) =" in to_markdown(build_table(twenty, results))
    assert "[10 runs]" not in to_markdown(build_table(spec, results))


def test_latex_is_a_tabular_with_escaped_signs(table2):
    text = to_latex(table2)
    assert text.count(r"\\") == 21
    assert r"cora 10 \% & " in text
    assert r"$\pm$" in text
    assert "±" not in text


def test_the_terminal_shows_the_matrix_or_every_cell(table2, capsys):
    print_table(table2)
    print_table(table2, show_details=True)
    assert "75 of 105 cells" in " ".join(capsys.readouterr().out.split())


def test_an_export_has_everything_needed_to_repeat_it(table2, results, tmp_path):
    files = export_study(table2, results, tmp_path / "out")
    names = {str(path.relative_to(tmp_path / "out")) for path in files}
    assert {"table.md", "table.tex", "table.csv", "environment.json", "seeds.json"} <= names
    assert {"study.toml", "figure.svg", "results/cora-0.1-l21.json"} <= names
    assert sum(name.startswith("splits/") for name in names) == 10


def test_an_export_is_finished_but_nothing_of_others_is_replaced(table2, results, tmp_path):
    files = export_study(table2, results, tmp_path / "out")
    (tmp_path / "out" / "table.csv").unlink()  # as if the first call had been killed
    assert export_study(table2, results, tmp_path / "out") == files
    assert all(path.is_file() for path in files)
    (tmp_path / "out" / "table.csv").write_text("mine")
    with pytest.raises(ValueError, match=r"output must be new or empty, got .* with table.csv"):
        export_study(table2, results, tmp_path / "out")
    assert (tmp_path / "out" / "table.csv").read_text() == "mine"


def test_publishing_writes_tables_and_a_reason_for_every_cell_that_differs(results, tmp_path):
    spec = load_spec("table2")
    about = Remark("The attack is another one.", ("cora",), ("gat",), (0.05,))
    table = build_table(replace(spec, remarks=(about,)), results)
    document = tmp_path / "reproduce.md"
    begin, end = markers("verdicts")
    document.write_text(f"before\n{begin}\nfrom before\n{end}\nafter\n")
    files = {path.name for path in publish([table], tmp_path, [document])}
    forms = {"table2.md", "table2.tex", "table2.csv", "table2.svg"}
    assert files == {*forms, "claims.json", "reproduce.md"}
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "from before" not in text
    assert text.count("The attack is another one.") == 1
    assert text.count("No explanation found yet.") == 29
    assert "Not run or not complete: pubmed." in text


def test_publishing_needs_the_markers(results, tmp_path):
    document = tmp_path / "reproduce.md"
    document.write_text("no markers")
    with pytest.raises(ValueError, match="document must contain"):
        publish([], tmp_path, [document])
    assert list(tmp_path.iterdir()) == [document]  # refused before anything is written


def test_a_page_gets_the_blocks_that_it_has():
    costs, verdicts = ("\n".join(markers(name)) for name in ("costs", "verdicts"))
    text = with_blocks(f"a\n{costs}\nb\n", {"costs": "12 hours", "verdicts": "within"})
    assert text == "a\n<!-- costs: begin -->\n\n12 hours\n\n<!-- costs: end -->\nb\n"
    both = with_blocks(f"{costs}\n{verdicts}", {"costs": "1", "verdicts": "2"})
    assert with_blocks(both, {"costs": "1", "verdicts": "2"}) == both
    half = markers("costs")[0]
    with pytest.raises(ValueError, match="document must contain"):
        with_blocks(half, {"costs": "1"})


def test_the_summary_counts_own_models_and_rivals_apart(table2):
    row = summary_text([table2], []).splitlines()[2]
    own, rivals = (table2.judged(rivals=kind) for kind in (False, True))
    counts = [f"{table2.within(kind, 2.0)} of {len(kind)}" for kind in (own, rivals)]
    assert row.startswith("| table2 | ")
    assert f"| {counts[0]} | {counts[1]} |" in row
    assert len(own) + len(rivals) == len(table2.judged())


def test_table_1_says_whether_elastic_and_appnp_tie(results):
    table = build_table(load_spec("table1"), results)
    text = to_markdown(table)
    assert "| ElasticGNN - APPNP, paired |" in text
    difference = table.contrast("cora", 0.0)
    assert difference.mean == pytest.approx(82.7 - 82.2)
    assert "+0.5 ± 0.0 higher |" in text
    assert "ElasticGNN - APPNP, paired" in to_latex(table)
    alone = load_spec("table1").restricted(models=("elastic",))
    assert "paired |" not in to_markdown(build_table(alone, results)).split("Every cell")[0]


def test_an_interval_around_zero_is_a_tie():
    assert word(summarize([1.0, -1.0, 0.5])) == "tie"
    assert word(summarize([0.02, -0.01, 0.01])) == "tie"
    assert word(summarize([-0.02, 0.01, -0.01])) == "tie"
    assert word(summarize([1.0, 1.1, 1.2])) == "higher"
    assert word(summarize([-1.0, -1.1, -1.2])) == "lower"


def test_only_runs_of_the_same_split_and_seed_are_paired(results):
    spec = load_spec("table1")
    one, two = (
        read_result(results, spec, Cell("cora", 0.0, name)) for name in ("elastic", "appnp")
    )
    fewer = replace(two, runs=two.runs[:4])
    assert paired_runs(spec, one, fewer).count == 4
    other = replace(two, runs=tuple(replace(run, split="another") for run in two.runs))
    assert paired_runs(spec, one, other) is None


def test_a_single_run_has_a_mean_and_no_spread(results):
    spec = load_spec("table1")
    result = read_result(results, spec, Cell("cora", 0.0, "gcn"))
    alone = build_entry(spec, result.cell, {result.cell: replace(result, runs=result.runs[:1])})
    table = Table(spec.restricted(("cora",), ("gcn",)), (alone,))
    assert "| 79.9 [1 run] (79.6 ± 1.1) = |" in to_markdown(table)
    assert to_rows(table)[0]["std"] is None


def test_columns_stand_under_their_own_models(results):
    table = build_table(load_spec("table1"), results)
    header, *lines = matrix(table)
    row = next(line for line in lines if line[0] == "cora")
    for position, model in enumerate(table.spec.models, start=1):
        assert header[position] == model.title
        paper = table.spec.paper["cora", model.name, 0.0].mean
        assert f"({paper:.1f} ±" in row[position]
        assert row[position].startswith(f"{table.entry('cora', 0.0, model.name).ours.mean:.1f} ")


def test_figure_3_is_given_in_numbers(results):
    table = build_table(load_spec("figure3"), results)
    text = to_markdown(table)
    assert "| cora | 1.5989 ± 0.0000 |" in text
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    first = rows[0]
    assert (first["dataset"], first["step"], float(first["objective"])) == ("cora", "0", 8.0)
    assert float(first["relative"]) == pytest.approx(8.0 / (5 + 3 * 0.7**19), abs=1e-5)
    assert len(rows) == 2 * 10 * 20
    assert "k = 10" in to_latex(table)


def test_a_searched_model_is_not_set_against_a_fixed_one(results):
    spec = load_spec("table1")
    one, two = (
        read_result(results, spec, Cell("cora", 0.0, name)) for name in ("elastic", "appnp")
    )
    assert are_comparable(one, two)
    fixed = replace(two, search="fixed")
    assert not are_comparable(one, fixed)
    assert are_comparable(replace(one, search="fixed"), fixed)
    dropped = replace(fixed, selected=replace(fixed.selected, dropout=0.8))
    assert not are_comparable(replace(one, search="fixed"), dropped)
    both = {one.cell: one, two.cell: fixed}
    entries = tuple(build_entry(spec, cell, both) for cell in (two.cell, one.cell))
    table = Table(spec.restricted(("cora",), ("appnp", "elastic")), entries)
    assert table.entry("cora", 0.0, "elastic").against_baseline is None
    assert "82.5 ± 0.1° (82.2" in to_markdown(table)


def test_the_papers_number_is_counted_once():
    for name in ("table3", "table4"):
        assert len(load_spec(name).paper) == 6


def test_text_that_looks_like_a_place_of_the_page_stays_text(results):
    from dataclasses import replace

    from elasticgnn.report.page import render_page

    spec = replace(load_spec("table1"), title="/*SCRIPT*/ /*DATA*/ /*STYLE*/ </script>")
    text = render_page([build_table(spec, results)])
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert json.loads(data[1])["studies"][0]["title"] == spec.title


@pytest.mark.parametrize(("metric", "expected"), [("accuracy", 70.0), ("ratio", 1.5)])
def test_a_study_shows_the_measure_that_it_names(metric, expected):
    spec = replace(load_spec("table2"), metric=metric)
    cell = Cell("cora", 0.05, "gcn")
    run = made_up_record(test=0.7, values={"ratio": 1.5, "sparse": 9.0})
    result = CellResult("table2", cell, spec.protocol, "grid", Setting(), (run,), (), ())
    assert build_entry(spec, cell, {cell: result}).ours.mean == pytest.approx(expected)


def test_every_cell_stands_under_its_model(table2):
    head, *lines = matrix(table2)
    models = table2.spec.models
    assert head[1 : len(models) + 1] == [model.title for model in models]
    for (dataset, level), line in zip(table2.rows, lines, strict=True):
        for model, cell in zip(models, line[1:], strict=False):  # a last column compares two
            ours = table2.entry(dataset, level, model.name).ours
            assert cell.startswith("–" if ours is None else f"{ours.mean:.1f}"), (dataset, model)


def test_a_search_of_another_space_is_told_apart(results):
    spec = load_spec("table1")
    table = build_table(spec, results)
    entry = table.entry("cora", 0.0, "gat")
    assert table.is_of_its_space(entry)
    foreign = replace(spec.model("gat").settings[0], attention_dropout=0.0)
    changed = replace(entry.result, candidates=(Candidate(foreign, 10, 0.8, 0.7),))
    assert not table.is_of_its_space(replace(entry, result=changed))
    assert "present space" not in searched_text([table])
    small = spec.restricted(("cora",), ("gat",))
    other = replace(table, spec=small, entries=(replace(entry, result=changed),))
    assert "not of the study's present space" in searched_text([other])
    timed = [replace(run, processor_seconds=1800.0) for run in entry.result.runs]
    retimed = replace(entry, result=replace(changed, runs=tuple(timed)))
    other = replace(table, spec=small, entries=(retimed,))
    text = searched_text([other])
    assert "grid, 1, 10, 1800.0 s each" in text
    assert "Measured: 0.0 processor hours for 0; at the seconds of one: 5.0 for 10; not kn" in text


def test_a_search_whose_trainings_were_all_measured_says_what_it_took(results):
    spec = load_spec("table1")
    entry = build_table(spec, results).entry("cora", 0.0, "gat")
    settings = spec.model("gat").settings[:2]
    whole = tuple(Candidate(setting, 3, 0.8, 0.7, 1800.0) for setting in settings)
    table = build_table(spec.restricted(("cora",), ("gat",)), results)

    def text_of(candidates):
        result = replace(entry.result, candidates=candidates)
        return searched_text([replace(table, entries=(replace(entry, result=result),))])

    assert "grid, 2, 6, 3600 s" in text_of(whole)
    assert "6 trainings. Measured: 1.0 processor hours for 6;" in text_of(whole)
    part = (whole[0], replace(whole[1], processor_seconds=None))
    assert "Measured: 0.0 processor hours for 0;" in text_of(part)
