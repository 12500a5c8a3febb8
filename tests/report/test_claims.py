"""The paper's sentences, judged by results that no training made."""

import json
from dataclasses import replace

import pytest

from elasticgnn.experiment import Cell, load_spec, read_result, spec_names
from elasticgnn.experiment.results import write_result
from elasticgnn.report import build_table
from elasticgnn.report.claims import (
    Case,
    Judgement,
    PaperClaim,
    claim_rows,
    claim_text,
    judge,
    load_claims,
    verdict_of,
)


def test_every_sentence_names_models_and_levels_of_its_study():
    for claim in load_claims():
        spec = load_spec(claim.study)
        assert claim.study in spec_names()
        spec.restricted(tuple(claim.margins), (*claim.ours, *claim.others))
        assert set(claim.levels) <= set(spec.levels)


@pytest.mark.parametrize(
    ("held", "needs", "verdict"),
    [
        (10, "all", "confirmed"),
        (9, "all", "partly"),
        (9, "almost all", "confirmed"),
        (8, "almost all", "partly"),
        (6, "most", "confirmed"),
        (5, "most", "partly"),
        (4, "most", "not confirmed"),
    ],
)
def test_words_of_quantity_have_shares(held, needs, verdict):
    assert verdict_of(held, 10, needs) == verdict


def judged(needs, *holds):
    claim = PaperClaim("table1", "A is better.", ("elastic",), needs=needs)
    return Judgement(claim, tuple(Case("case", hold, "") for hold in holds))


def test_cases_not_judged_leave_a_sentence_open_only_while_they_matter():
    assert judged("all", True, True, None).verdict == "open"
    assert judged("most", True, True, None).verdict == "confirmed"
    assert judged("all", False, False, False, None).verdict == "not confirmed"
    assert judged("all", True, None).summary == "1 of 1 cases; 1 not judged"


def test_a_mean_that_decides_says_how_often_it_is_more_than_chance():
    claim = PaperClaim("table1", "A is better.", ("elastic",), needs="most")
    words = (("higher", True), ("tie", True), ("tie", False), ("lower", False))
    found = Judgement(claim, tuple(Case("case", holds, "", word) for word, holds in words))
    assert found.summary == "2 of 4 cases (1 beyond chance, 1 the other way)"
    assert claim_rows([found])[0]["summary"] == found.summary


def test_chance_is_counted_only_where_the_interval_does_not_decide(results):
    table = build_table(load_spec("table2"), results)
    by_mean = judge(find("table2", "l21 outperforms l1"), table)
    assert by_mean.summary == "15 of 15 cases (15 beyond chance); 5 not judged"
    by_interval = judge(find("table2", "All variants"), table)
    assert "chance" not in by_interval.summary


def find(study, start):
    return next(c for c in load_claims() if c.study == study and c.sentence.startswith(start))


def test_pairs_are_counted_on_every_row(results):
    table = build_table(load_spec("table2"), results)
    found = judge(find("table2", "l21 outperforms l1"), table)
    assert len(found.cases) == 20
    assert len(found.judged) == 15  # PubMed is missing
    assert found.held == 15  # l1 was made 9 points worse than published
    assert found.verdict == "confirmed"
    cases = {case.name: case.holds for case in judge(find("table2", "All variants"), table).cases}
    assert cases["cora 0 % l21 - GCN"] is True
    assert cases["cora 0 % l21 - GAT"] is False  # GAT was made 12 points better
    assert cases["cora 0 % l1 - GCN"] is False


def test_a_margin_holds_inside_our_interval(results, tmp_path):
    spec = load_spec("table2")
    for name, step in (("l21+l2", 0.0), ("gcn", 0.002)):  # differences spread by a point
        cell = read_result(results, spec, Cell("cora", 0.15, name))
        runs = (replace(run, test=run.test + step * (run.run - 4.5)) for run in cell.runs)
        write_result(tmp_path, spec, replace(cell, runs=tuple(runs)))
    table = build_table(spec, tmp_path)
    claim = find("table2", "At 15 %")
    assert [case.holds for case in judge(claim, table).cases] == [True, None, None, None]
    wrong = replace(claim, margins={"cora": 12.8})
    assert [case.holds for case in judge(wrong, table).cases] == [False]


def test_a_rising_objective_and_a_fixed_rival_are_noticed(results, tmp_path):
    spec = load_spec("figure3")
    result = read_result(results, spec, Cell("cora", 0.0, "elastic"))
    rising = replace(result.runs[0], series={"objective": (3.0, 2.0, 2.5)})
    write_result(tmp_path, spec, replace(result, runs=(rising, *result.runs[1:])))
    found = judge(find("figure3", "The objective"), build_table(spec, tmp_path))
    assert [case.holds for case in found.cases] == [False, None, None]
    flat = replace(result.runs[0], series={"objective": (3.0, 2.0, 2.0)})
    write_result(tmp_path, spec, replace(result, runs=(flat, *result.runs[1:])))
    found = judge(find("figure3", "The objective"), build_table(spec, tmp_path))
    assert found.cases[0].holds is False
    assert found.cases[0].figure == "172 of 173 steps fall"
    table1 = load_spec("table1")
    for name, search in (("elastic", "grid"), ("appnp", "fixed")):
        cell = read_result(results, table1, Cell("cora", 0.0, name))
        write_result(tmp_path, table1, replace(cell, search=search))
    found = judge(find("table1", "Elastic GNN (l21+l2)"), build_table(table1, tmp_path))
    assert found.cases[0].figure == "tuned differently"
    assert found.verdict == "open"


def test_rows_are_json_and_text_names_every_case_if_wanted(results):
    table = build_table(load_spec("table2"), results)
    found = [judge(claim, table) for claim in load_claims() if claim.study == "table2"]
    assert json.loads(json.dumps(claim_rows(found)))[0]["judged"] == 150
    assert "cora 5 % l21 - l1" in claim_text(found, show_cases=True)
    assert "cora 5 % l21 - l1" not in claim_text(found)


def test_a_sentence_is_judged_apart_by_every_study_it_names():
    claims = load_claims()
    assert {c.study for c in claims if "table2" in c.study} == {"table2", "table2-16"}
    first, second = ([c for c in claims if c.study == s] for s in ("table2", "table2-16"))
    assert [c.sentence for c in first] == [c.sentence for c in second]


def test_a_significant_sentence_needs_the_whole_interval_above_zero(results, tmp_path):
    spec = load_spec("table2")
    for name, step in (("l21", 0.0), ("gcn", 0.05)):  # differences spread by 15 points
        cell = read_result(results, spec, Cell("cora", 0.15, name))
        runs = (replace(run, test=run.test + step * (run.run - 4.5)) for run in cell.runs)
        write_result(tmp_path, spec, replace(cell, runs=tuple(runs)))
    table, claim = build_table(spec, tmp_path), find("table2", "All variants")
    for significant, holds in ((True, False), (False, True)):
        found = judge(replace(claim, significant=significant), table).cases
        assert [case.holds for case in found if case.holds is not None] == [holds]
        assert any(case.figure.endswith("tie") for case in found)
