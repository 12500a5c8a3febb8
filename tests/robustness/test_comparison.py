"""The comparison: everybody's attacks on everybody, the worst of them, stopped and resumed."""

import json
import time
from dataclasses import replace

import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded
from by_mode import by_mode
from elasticgnn.attack import (
    EvolutionSettings,
    GradientSettings,
    MetattackSettings,
    Retraining,
    load_perturbation,
)
from elasticgnn.attack.evaluation import fixed_or_drawn
from elasticgnn.attack.perturbation import component_task
from elasticgnn.attack.victim import NoEdgeGradientError, Victim
from elasticgnn.data import load
from elasticgnn.nn import ModelSettings
from elasticgnn.robustness import RobustnessPlan, measure_robustness, outcomes, read_contestant
from elasticgnn.robustness.contest import without_nodes
from elasticgnn.robustness.contestant import Contestant, with_dropouts
from elasticgnn.robustness.local import pick_targets
from elasticgnn.robustness.matrix import transfer_matrix
from elasticgnn.robustness.other_kinds import fed
from elasticgnn.robustness.presence import as_presence
from elasticgnn.robustness.routes import gradient_routes, poisoning_routes
from elasticgnn.robustness.store import Row, Rows
from elasticgnn.training import TrainingPlan


def plan(models, **options):
    names = models.split(",")
    given = {
        "models": tuple(read_contestant(name, ModelSettings()) for name in names),
        "rates": (0.1, 0.2),
        "seeds": (0,),
        "training": TrainingPlan(epochs=25),
        "gradient": GradientSettings(block_size=400, epochs=5, fresh_epochs=3, samples=2),
        "evolution": EvolutionSettings(6, 6, generations=15, screened=20),
        "metattack": MetattackSettings(flips_per_step=8),
        "poisoning": Retraining(steps=2),
    }
    return RobustnessPlan(**(given | options))


def test_worst_is_over_everybodys_flips_and_smaller_budgets():
    rows = measure_robustness(
        planted_task(), plan("elastic,gcn,mlp,elastic+mcp", attacks=("prbcd", "eva"))
    ).rows()
    found = by_mode(outcomes(rows))
    routes = {(row.source, row.route) for row in rows if row.attack == "prbcd"}
    assert {("elastic+mcp", "itself"), ("elastic+mcp", "convex")} < routes
    assert ("elastic+mcp", "less concave") in routes
    assert not any(row.source == "mlp" for row in rows)
    for model in ("elastic", "gcn", "elastic+mcp"):
        every = [row.accuracy[model] for row in rows if row.rate <= 0.2]
        assert found[model, "all", "worst", 0.2] == (min(every),)
        assert found[model, "all", "worst", 0.2] <= found[model, "all", "worst", 0.1]
        both = min(found[model, "all", mode, 0.2] for mode in ("transfer", "adaptive"))
        clean = found[model, "all", "clean", 0.0]
        assert min(both, clean) == found[model, "all", "worst", 0.2]
    clean = found["mlp", "all", "clean", 0.0]
    assert found["mlp", "all", "worst", 0.2] == clean


def test_poisoning_goes_through_the_neighbours_of_both_penalties():
    task = planted_task()
    (each,) = plan("elastic+mcp").models
    ways = poisoning_routes(each, each.untrained(task, torch.Generator().manual_seed(0)))
    norms = {name: way.penalty.norm for name, way in ways.items()}
    assert norms == {
        "itself": "l21",
        "predicting, itself": "mcp",
        "predicting, convex": "l21",
        "predicting, less concave": "mcp",
    }
    (concave,) = plan("elastic:mcp:1:0:3").models
    ways = poisoning_routes(concave, concave.untrained(task, torch.Generator().manual_seed(0)))
    assert list(ways) == ["itself", "convex", "less concave"]
    weights = [next(way.parameters()) for way in ways.values()]
    assert weights[0].data_ptr() != weights[1].data_ptr()  # one training does not move the other
    assert torch.equal(weights[0], weights[1])


def test_poisoned_rows_have_every_route_and_shared_ones_every_model():
    names = "elastic:mcp:1:0:3,gcn"
    rows = measure_robustness(
        planted_task(),
        plan(names, protocol="poisoning", attacks=("prbcd", "metattack"), rates=(0.2,)),
    ).rows()
    own = [row for row in rows if row.attack == "prbcd" and row.source.startswith("elastic")]
    assert {row.route for row in own} == {"itself", "convex", "less concave"}
    shared = [row for row in rows if row.attack == "metattack"]
    assert [set(row.accuracy) for row in shared] == [set(names.split(","))]
    assert any(each.mode == "worst" for each in outcomes(rows))


def test_a_route_without_a_gradient_does_not_hide_the_others(monkeypatch):
    def without_gradient(*given, **named):
        raise NoEdgeGradientError("none")

    monkeypatch.setattr("elasticgnn.robustness.run.attack", without_gradient)
    asked = plan("elastic:mcp:3:0:2.5", protocol="poisoning", rates=(0.1,))
    rows = measure_robustness(planted_task(), asked).rows()
    assert [row.route for row in rows[1:]] == ["itself", "convex", "less concave"]


def test_rung_is_attacked_through_its_convex_form():
    (rung,) = plan("rung").models
    model = rung.untrained(planted_task(), torch.Generator().manual_seed(0))
    ways = gradient_routes(model)
    assert [way.norm for way in ways.values()] == ["mcp", "l1"]


def test_a_stopped_comparison_goes_on_and_repeats_nothing(tmp_path):
    task, given = planted_task(), plan("gcn,elastic", attacks=("random", "prbcd"))
    path = tmp_path / "rows.jsonl"
    whole = measure_robustness(task, given, Rows(path)).rows()
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:4]) + "\n" + lines[4][:30])  # cut off within a line
    reported = []
    resumed = measure_robustness(task, given, Rows(path), reported.append).rows()
    trainings = ["seed 0: training gcn", "seed 0: training elastic"]  # before the first minutes
    assert reported[:2] == trainings
    assert len(reported) == 2 + len(lines) - 4
    assert {row.key: row.accuracy for row in resumed} == {row.key: row.accuracy for row in whole}
    again = []
    measure_robustness(task, given, Rows(path), again.append)
    assert again == []  # nothing is missing, so nothing is trained
    readable = [line for line in path.read_text().splitlines() if line != lines[4][:30]]
    assert all(json.loads(line) for line in readable)


def stored_clean(tmp_path, task, given, **changed):
    """Rows of which only the clean one is there, as an interruption leaves them."""
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
    clean = replace(measure_robustness(task, given).rows()[0], **changed)
    Rows(path).add(clean)
    return Rows(path)


def test_seconds_of_a_row_are_without_the_trainings_of_a_resumed_comparison(tmp_path, monkeypatch):
    task, given = planted_task(), plan("gcn,mlp", attacks=("random",), rates=(0.1,))
    rows, clock, train = stored_clean(tmp_path, task, given), [0.0], Contestant.train

    def slow(*everything):
        clock[0] += 100
        return train(*everything)

    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    monkeypatch.setattr(Contestant, "train", slow)
    (found,) = (row for row in measure_robustness(task, given, rows).rows() if row.rate)
    assert clock == [200]
    assert found.seconds == 0


def test_networks_that_are_not_those_of_the_stored_rows_are_told(tmp_path):
    task, given = planted_task(), plan("gcn,mlp", attacks=("random",), rates=(0.1,))
    told = []
    measure_robustness(task, given, stored_clean(tmp_path, task, given), told.append)
    assert not any("another" in line for line in told)
    clean = measure_robustness(task, given).rows()[0].accuracy
    other = stored_clean(tmp_path, task, given, accuracy=clean | {"gcn": 0.125})
    measure_robustness(task, given, other, told.append)
    (line,) = (line for line in told if "another" in line)
    assert f"gcn {100 * clean['gcn']:.2f} % instead of 12.50" in line
    assert "mlp" not in line


def test_rows_of_other_plans_have_other_names():
    task = planted_task()
    one = plan("gcn")
    assert one.digest(task) == plan("gcn").digest(task)
    for other in (plan("mlp"), plan("gcn", protocol="inductive"), plan("gcn", targets=3)):
        assert other.digest(task) != one.digest(task)


def test_inductive_training_sees_no_test_node():
    task = planted_task()
    test = planted_split(task).test
    graph = without_nodes(task.graph, test)
    ends = torch.cat((graph.tail, graph.head))
    assert not bool(torch.isin(ends, test).any())
    inner = ~torch.isin(task.graph.tail, test) & ~torch.isin(task.graph.head, test)
    assert graph.num_edges == int(inner.sum()) > 0


def test_local_targets_have_the_degrees_wanted_and_are_attacked_alone():
    task = planted_task()
    nodes = pick_targets(task, planted_split(task).test, 6, torch.Generator().manual_seed(0))
    assert len(nodes.unique()) == len(nodes) <= 6
    given = plan("gcn,mlp", protocol="local", attacks=("prbcd",), rates=(0.5, 2.0), targets=4)
    found = by_mode(outcomes(measure_robustness(task, given).rows()))
    assert found["gcn", "prbcd", "worst", 2.0] <= found["gcn", "prbcd", "worst", 0.5]


@pytest.mark.parametrize("protocol", ["local", "poisoning"])
def test_models_that_use_no_edge_keep_their_clean_accuracy_in_the_table(protocol):
    given = plan("gcn,mlp", protocol=protocol, attacks=("prbcd",), rates=(0.5,), targets=4)
    found = by_mode(outcomes(measure_robustness(planted_task(), given).rows()))
    assert found["mlp", "prbcd", "worst", 0.5] == found["mlp", "all", "clean", 0.0]


def test_words_are_flipped_through_every_model_and_hurt_their_own_most():
    given = plan("gcn,mlp,jaccard", attacks=("features",), rates=(0.3,))
    rows = measure_robustness(planted_task(), given).rows()
    found = {row.source: row.accuracy for row in rows}
    assert {row.source for row in rows if row.rate > 0} == {"gcn", "mlp", "jaccard"}
    for model in ("gcn", "mlp"):
        assert found[model][model] < found[""][model]  # the clean row
        assert found[model][model] <= min(each[model] for each in found.values()) + 0.05


def test_words_and_edges_are_not_counted_as_one():
    rows = [
        Row("evasion", 0, 0.1, "prbcd", "a", "itself", {"a": 0.7}),
        Row("evasion", 0, 0.1, "dice", "", "", {"a": 0.8}),
        Row("evasion", 0, 0.1, "features", "a", "itself", {"a": 0.1}),
    ]
    found = by_mode(outcomes(rows))
    assert found["a", "all", "worst", 0.1] == (0.7,)
    assert found["a", "features", "worst", 0.1] == (0.1,)
    assert [cell.accuracy for cell in transfer_matrix(rows)] == [(0.7,), (0.8,)]


def test_words_that_cannot_be_flipped_are_refused_before_any_training():
    task, reported = planted_task(), []
    counts = replace(task, features=2 * task.features.to_dense())
    with pytest.raises(ValueError, match="features must be 0 or 1 to be flipped"):
        measure_robustness(counts, plan("gcn", attacks=("features",)), say=reported.append)
    assert reported == []


def test_jaccard_compares_the_words_that_are_there_after_they_are_flipped():
    task = planted_task()
    model = read_contestant("jaccard", ModelSettings()).untrained(task, torch.Generator())
    blank = replace(task, features=torch.zeros(task.num_nodes, task.num_features))
    assert bool(model.similar.any())
    assert not bool(fed(model, blank).similar.any())
    assert bool(model.similar.any())


def test_flipped_labels_are_trained_with_and_test_nodes_keep_theirs():
    given = plan("gcn,mlp", protocol="poisoning", attacks=("labels",), rates=(0.5, 1.0))
    rows = measure_robustness(planted_task(), given).rows()
    left = {row.rate: row for row in rows}
    assert set(left[0.5].accuracy) == {"gcn", "mlp"}
    assert left[1.0].flips == len(fixed_or_drawn(planted_task(), seeded(0)).train)
    assert left[1.0].accuracy["gcn"] < 0.5 < left[0.0].accuracy["gcn"]


def test_clean_accuracy_of_local_attacks_is_that_of_the_targets():
    task, asked = planted_task(num_nodes=120), plan("gcn,elastic", protocol="local", targets=7)
    rows = measure_robustness(task, asked).rows()
    (clean,) = (row for row in rows if row.rate == 0)
    for value in clean.accuracy.values():
        assert value * 7 == pytest.approx(round(value * 7))  # a number of sevenths
    for row in rows:
        assert row.accuracy[row.source or "gcn"] <= clean.accuracy[row.source or "gcn"]


def test_every_model_takes_the_dropout_that_validation_prefers():
    task = planted_task()
    split, training = planted_split(task), TrainingPlan(epochs=4)
    each = with_dropouts("gcn", ModelSettings(), (0.95, 0.0))
    chosen = each.train(task, split, training, seed=0)
    alone = [one.train(task, split, training, seed=0) for one in each.variants]
    graded = [Victim(model, task, split.val).accuracy(task.graph) for model in alone]
    best = alone[graded.index(max(graded))]
    assert graded[0] < graded[1]
    for name, weight in chosen.state_dict().items():
        assert torch.equal(weight, best.state_dict()[name])
    assert with_dropouts("gcn", ModelSettings(), (0.3,)).variants == ()
    chosen_plan = replace(plan("gcn"), models=(each,))
    assert chosen_plan.digest(task) != replace(plan("gcn"), models=each.variants[:1]).digest(task)


def test_flips_are_stored_beside_their_row(tmp_path):
    task, rows = planted_task(), Rows(tmp_path / "rows.jsonl")
    measure_robustness(task, plan("elastic+mcp", rates=(0.1,)), rows)
    found = [row for row in rows.rows() if row.rate > 0]
    assert len(found) == 3  # the routes
    for row in found:
        flips = load_perturbation(tmp_path / "rows" / row.file_name)
        assert len(flips) == row.flips
        assert flips.split.test.tolist() == fixed_or_drawn(task, seeded(0)).test.tolist()


def test_shipped_graphs_are_met_by_every_model_or_refused():
    cora = as_presence(component_task(load("cora")))
    given = plan("mlp", attacks=("shipped",), rates=(0.05,), training=TrainingPlan(epochs=2))
    rows = measure_robustness(cora, given).rows()
    names = {row.route for row in rows if row.rate > 0}
    assert {name.split("-")[1] for name in names} == {"prbcd", "eva"}
    assert {row.flips for row in rows if row.rate > 0} == {253}
    assert all(name.endswith("-5-0") for name in names)
    for options, message in (
        ({"rates": (0.07,)}, "rates must stand for"),
        ({"seeds": (77,)}, "seeds must be among"),
    ):
        with pytest.raises(ValueError, match=message):
            measure_robustness(cora, plan("mlp", attacks=("shipped",), **options))
    with pytest.raises(ValueError, match="component of cora"):
        measure_robustness(planted_task(), given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "other"}, "protocol must be one of"),
        ({"attacks": ("metattack",)}, "attacks must fit protocol"),
        ({"attacks": ("eva",), "protocol": "poisoning"}, "attacks must fit protocol"),
        ({"rates": (-1.0,)}, "rates must be numbers"),
        ({"rates": (float("inf"),)}, "rates must be numbers"),
        ({"targets": 0}, "targets must be >= 1"),
        ({"attacks": ("labels",)}, "attacks must fit protocol"),
        ({"attacks": ("features",), "protocol": "local"}, "attacks must fit protocol"),
        ({"attacks": ("labels",), "protocol": "poisoning", "rates": (2.0,)}, "rates must be at"),
        ({"seeds": ()}, "plan must have models"),
        ({"seeds": (0, -1)}, "seeds must be >= 0, got -1"),
    ],
)
def test_plans_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        plan("gcn", **options)


def test_penalties_that_make_no_sense_are_refused_before_any_training():
    with pytest.raises(ValueError, match="lambda1 must be a number >= 0"):
        read_contestant("elastic", ModelSettings(lambda1=-1.0))
    assert read_contestant("gcn", ModelSettings(lambda1=-1.0)).name == "gcn"  # has no penalty
