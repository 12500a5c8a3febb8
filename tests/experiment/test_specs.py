"""Every study of the package: its names, its numbers, and a run cut down to seconds."""

import math
import tomllib
from dataclasses import replace

import pytest

from elasticgnn.experiment import WorkPlan, cells, cut_down, load_spec, read_result, run_study
from elasticgnn.experiment.cells import cell_groups
from elasticgnn.experiment.engine import expected_trainings
from elasticgnn.experiment.found import with_found
from elasticgnn.experiment.search import drawn
from elasticgnn.experiment.space import Rung, SearchPlan
from elasticgnn.experiment.spec import Published
from elasticgnn.experiment.spec_file import SPECS, parse_spec, spec_names
from elasticgnn.experiment.tasks import LONG_NAMES

STUDIES = ("figure2", "figure3", "table1", "table1-divided")
STUDIES += ("table2", "table2-16", "table3", "table4")


def raw(name):
    return tomllib.loads((SPECS / f"{name}.toml").read_text("utf-8"))


def test_the_package_brings_every_table_and_figure_with_numbers():
    assert spec_names() == STUDIES


@pytest.mark.parametrize("name", STUDIES)
def test_every_data_set_of_a_study_can_be_loaded_by_name(name):
    from elasticgnn.data.catalogue import catalogue

    spec = load_spec(name)
    for dataset in spec.datasets:
        for level in spec.levels:
            attacked = spec.protocol.data == "attacked"
            full = f"{dataset}-meta-{level:g}" if attacked else LONG_NAMES.get(dataset, dataset)
            assert full in catalogue()


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_runs_cut_down_to_seconds_and_is_stored(name, tmp_path):
    spec = cut_down(load_spec(name))
    run_study(spec, WorkPlan(f"sqlite:///{tmp_path}/t.db", tmp_path))
    for cell in cells(spec):
        result = read_result(tmp_path, spec, cell)
        assert [record.run for record in result.runs] == [0, 1]
        assert result.selected in [candidate.setting for candidate in result.candidates]
        if spec.metric != "objective":
            assert all(math.isfinite(value) for value in result.metric(spec.metric))


def test_the_papers_grid_has_576_points_and_appnps_252():
    spec = load_spec("table1")
    # Without lambda1 and lambda2 nothing is propagated, yet K stays a part of the grid.
    assert len(spec.model("elastic").settings) == 576
    assert len(spec.model("appnp").settings) == 252


def test_table_1_searches_whole_spaces_on_two_data_sets_and_one_draw_on_the_others():
    spec = load_spec("table1")
    methods = {name: spec.search_on(name).method for name in spec.datasets}
    assert methods == dict.fromkeys(spec.datasets, "halving") | {
        "cora": "grid",
        "citeseer": "grid",
    }
    spec = spec.searched_by("halving")
    whole, draw = spec.search_on("cora"), spec.search_on("photo")
    assert [(rung.keep, rung.runs) for rung in whole.rungs] == [(576, 1), (12, 3), (3, 10)]
    assert [(rung.keep, rung.runs) for rung in draw.rungs] == [(48, 1), (6, 3), (2, 10)]
    assert {name for name in spec.datasets if spec.search_on(name) == whole} == {"cora", "citeseer"}
    assert all(spec.search_on(n) == draw for n in ("pubmed", "cs", "physics", "computers"))
    left = {group.group: expected_trainings(group) for group in cell_groups(spec)[-7:]}
    assert left == dict.fromkeys(("cheb", "gcn", "gat", "sgc", "sage"), 44) | {
        "appnp": 74,
        "elastic": 74,
    }


def test_another_method_is_for_all_data_sets():
    spec = load_spec("table1").searched_by("fixed")
    assert {spec.search_on(name).method for name in spec.datasets} == {"fixed"}


def test_a_cut_down_study_trains_with_both_penalties():
    (elastic,) = cut_down(load_spec("table1")).restricted(models=("elastic",)).models
    assert any(s.lambda1 > 0 for s in elastic.settings)
    assert any(s.lambda2 > 0 for s in elastic.settings)


def test_a_result_holds_the_rule_of_its_search(tmp_path):
    spec = cut_down(load_spec("table1"), runs=1, settings=8).restricted(models=("elastic",))
    plan = SearchPlan("halving", (Rung(3, 1),), seed=5)
    spec = replace(spec, searches={spec.datasets[0]: plan})
    run_study(spec, WorkPlan(f"sqlite:///{tmp_path}/t.db", tmp_path))
    result = read_result(tmp_path, spec, cells(spec)[0])
    assert (result.search, result.rule) == ("halving", plan)
    tried = [candidate.setting for candidate in result.candidates]
    assert tried == drawn(spec.models[0].settings, 3, 5)


def test_published_numbers_are_the_papers():
    table1, table2 = load_spec("table1"), load_spec("table2")
    assert table1.paper["photo", "sgc", 0.0] == Published(83.5, 2.9)
    assert ("physics", "cheb", 0.0) not in table1.paper  # the paper prints OOM
    assert len(table1.paper) == 48
    assert table2.paper["cora", "l21+l2", 0.15] == Published(77.2, 1.6)
    assert len(table2.paper) == 4 * 5 * 7
    assert load_spec("table4").paper["citeseer", "elastic", 0.0] == Published(74.0)


def test_all_variants_of_table_2_choose_from_one_grid_at_the_papers_width():
    spec = load_spec("table2")
    assert spec.protocol.hidden_channels == 64
    elastic = [model for model in spec.models if model.group == "elastic"]
    whole = {0.0, 3.0, 6.0, 9.0}
    for model in elastic:
        found = {(s.lambda1, s.lambda2) for s in model.settings}
        first = {0.0} if model.name == "l2" else whole
        second = {0.0} if model.name in ("l1", "l21") else whole
        assert found == {(one, two) for one in first for two in second}
    assert len({setting for model in elastic for setting in model.settings}) == 28
    assert spec.model("gat").settings[0].attention_dropout == 0.5


def test_with_16_units_l2_is_tuned_over_both_grids_and_shared_points_are_trained_once():
    lambdas = [setting.lambda2 for setting in load_spec("table2-16").model("l2").settings]
    assert lambdas == [0.0, 3.0, 6.0, 9.0, math.inf, 4.0, round(1 / 0.3 - 1, 12), 1.0, 0.25]


def test_tables_3_and_4_and_figure_3_measure_the_same_trainings():
    table3, table4, figure3 = (load_spec(name) for name in ("table3", "table4", "figure3"))
    assert table3.pool == table4.pool == figure3.pool
    assert figure3.protocol == table3.protocol
    assert figure3.model("elastic").settings == table3.model("elastic").settings
    assert table3.protocol == table4.protocol
    assert [m.settings for m in table3.models] == [m.settings for m in table4.models]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "must have keys of"),
        ({"axis": "time"}, "axis, metric must be of"),
        ({"baseline": "nobody"}, "model must be one of"),
        ({"datasets": ["cora"]}, "must have 1 entries for a data set"),
        ({"protocol": {"epochs": 0}}, "epochs must be >= 1, got 0"),
        ({"protocol": {"normalize_features": "some"}}, "normalize_features must be one of"),
        ({"remarks": [{"text": "x", "datasets": ["mars"]}]}, "dataset must be one of"),
        ({"remarks": [{"text": "x", "levels": [3.0]}]}, "levels of a remark must be of"),
        ({"search": {"method": "luck"}}, "search must be one of"),
        ({"models": {"a": {"family": "transformer"}}}, "family must be one of"),
        ({"models": {"a": {"family": "gcn", "layers": 3}}}, "must have keys of"),
        ({"models": {"a": {"family": "gcn", "space": [{"lr": 1}]}}}, "setting must have names"),
    ],
)
def test_a_wrong_name_in_a_study_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        parse_spec("table1", {**raw("table1"), **change})


def test_an_unknown_study_is_refused():
    with pytest.raises(ValueError, match="study must be one of"):
        load_spec("table9")


def test_a_study_file_of_ones_own_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text((SPECS / "table3.toml").read_text("utf-8"))
    assert load_spec(str(path)).name == "mine"


def test_restricting_a_study_refuses_unknown_names():
    spec = load_spec("table1")
    assert spec.restricted(("photo",), ("gcn",)).datasets == ("photo",)
    with pytest.raises(ValueError, match="dataset must be one of"):
        spec.restricted(("imagenet",))
    with pytest.raises(ValueError, match="model must be one of"):
        spec.restricted((), ("mlp",))


def test_trainings_under_another_protocol_have_another_fingerprint():
    spec = load_spec("table2")
    shorter = cut_down(spec).protocol
    assert shorter.fingerprint != spec.protocol.fingerprint


def test_fixed_repeats_what_an_earlier_search_found(tmp_path):
    spec = cut_down(load_spec("table3").restricted(models=("elastic",)))
    plan = WorkPlan(f"sqlite:///{tmp_path}/t.db", tmp_path)
    other = replace(spec.models[0].fixed, lambda1=1.0)
    searched = replace(spec, models=(replace(spec.models[0], settings=(other,)),))
    run_study(searched, plan)
    fixed = replace(with_found(spec, tmp_path), search=SearchPlan("fixed"))
    with pytest.raises(ValueError, match="search must be grid or more, got 'fixed'"):
        run_study(fixed, plan)  # which would replace the search
    again = tmp_path / "again"
    run_study(fixed, replace(plan, results=again))
    assert read_result(again, spec, cells(spec)[0]).selected == other


def test_a_study_trains_on_the_real_cora_that_the_package_brings(tmp_path):
    spec = load_spec("table1").restricted(("cora",), ("gcn", "elastic"))
    short = replace(spec.protocol, runs=1, epochs=80)
    spec = replace(spec, protocol=short).searched_by("fixed")
    run_study(spec, WorkPlan(f"sqlite:///{tmp_path}/t.db", tmp_path))
    for cell in cells(spec):
        result = read_result(tmp_path, spec, cell)
        assert result.metric("accuracy")[0] > 60
        # GCN's test nodes are looked at in chosen epochs only
        assert ("test" in result.runs[0].curves) == (cell.model == "elastic")
        assert (tmp_path / "splits" / f"cora-{result.runs[0].split}.json").is_file()
