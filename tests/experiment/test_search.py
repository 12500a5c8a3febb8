"""Searches: what is wanted next, and what is selected in the end."""

import random

from elasticgnn.experiment import load_spec
from elasticgnn.experiment.search import drawn, expected_runs, needs, select
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.space import Rung, SearchPlan
from made_up_records import made_up_record

SETTINGS = [Setting(lambda1=float(index)) for index in range(8)]
HALVING = SearchPlan("halving", (Rung(8, 1), Rung(4, 2), Rung(2, 5)))


def val(setting, run):
    return 0.5 + setting.lambda1 / 20 + run / 1000


def trained(counts):
    return {s: {r: made_up_record(r, val(s, r)) for r in range(n)} for s, n in counts.items()}


def test_a_grid_wants_every_setting_with_all_runs():
    wanted = needs(SETTINGS, SETTINGS[3], SearchPlan("grid"), 10, {})
    assert wanted.runs == dict.fromkeys(SETTINGS, 10)
    assert wanted.final


def test_fixed_wants_the_one_setting():
    assert needs(SETTINGS, SETTINGS[3], SearchPlan("fixed"), 10, {}).runs == {SETTINGS[3]: 10}


def test_halving_gives_more_runs_to_the_better_half_only():
    counts, trained_runs = {}, 0
    for _ in range(10):
        wanted = needs(SETTINGS, SETTINGS[0], HALVING, 5, trained(counts))
        trained_runs += sum(n - counts.get(s, 0) for s, n in wanted.runs.items())
        counts = {**counts, **wanted.runs}
        if wanted.final:
            break
    assert counts == {
        **dict.fromkeys(SETTINGS[:4], 1),
        **dict.fromkeys(SETTINGS[4:6], 2),
        **dict.fromkeys(SETTINGS[6:], 5),
    }
    assert trained_runs == expected_runs(8, HALVING, 5) == 8 + 4 + 6


def test_halving_waits_for_a_full_rung():
    records = trained(dict.fromkeys(SETTINGS[:7], 1))
    wanted = needs(SETTINGS, SETTINGS[0], HALVING, 5, records)
    assert wanted.runs == dict.fromkeys(SETTINGS, 1)
    assert not wanted.final
    assert not wanted.met(records)


def test_a_first_rung_smaller_than_the_grid_is_drawn_from_the_seed_of_the_plan():
    found = [
        list(needs(SETTINGS, SETTINGS[0], SearchPlan("halving", (Rung(4, 1),), seed), 3, {}).runs)
        for seed in (0, 0, 1)
    ]
    assert found[0] == found[1] != found[2]
    for chosen in found:
        assert len(set(chosen)) == 4
        assert chosen == [setting for setting in SETTINGS if setting in chosen]


def test_a_draw_is_of_the_lowest_numbers_of_the_generator_and_of_all_where_there_are_fewer():
    lots = random.Random(7)
    numbers = [lots.random() for _ in SETTINGS]
    below = sorted(numbers)[3]
    pairs = zip(SETTINGS, numbers, strict=True)
    assert drawn(SETTINGS, 3, 7) == [setting for setting, number in pairs if number < below]
    assert drawn(SETTINGS, 8, 7) == drawn(SETTINGS, 99, 7) == SETTINGS


def test_a_draw_from_the_papers_grid_has_every_value_of_every_hyperparameter():
    spec = load_spec("table1")
    plan = spec.search_on("photo")
    for model in ("elastic", "appnp"):
        space = spec.model(model).settings
        found = drawn(space, plan.rungs[0].keep, plan.seed)
        for name in ("steps", "learning_rate", "weight_decay", "dropout", "lambda1", "lambda2"):
            assert {getattr(s, name) for s in found} == {getattr(s, name) for s in space}
    pairs = {(s.lambda1, s.lambda2) for s in drawn(spec.model("elastic").settings, 48, plan.seed)}
    assert len(pairs) > 12  # of 16: every 12th setting of the grid would have four


def test_selection_looks_at_validation_nodes_and_at_complete_settings_only():
    records = trained({SETTINGS[1]: 3, SETTINGS[5]: 3, SETTINGS[7]: 2})
    assert select(SETTINGS, 3, records) == SETTINGS[5]
    assert select(SETTINGS[:1], 3, records) is None


def test_ties_go_to_the_first_setting_of_the_grid():
    same = {run: made_up_record(run, 0.6) for run in range(2)}
    assert select(SETTINGS, 2, {SETTINGS[4]: same, SETTINGS[2]: same}) == SETTINGS[2]
