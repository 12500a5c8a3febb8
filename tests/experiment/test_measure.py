"""Tables 3 and 4 and figure 3: what is measured, on a graph small enough for pencil and paper."""

import pytest
import torch

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.data import NodeTask
from elasticgnn.experiment import load_spec
from elasticgnn.experiment.cells import cell_groups
from elasticgnn.experiment.execute import GroupTask, measurements, model_settings
from elasticgnn.experiment.measure import edge_values, objective_series
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.tasks import load_task
from elasticgnn.training import History, make_model

# a path of four nodes; D divides by the root of the degree with self-loop (2, 3, 3, 2)
PATH = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
TASK = NodeTask("path", PATH, torch.zeros(4, 1), torch.tensor([0, 0, 1, 1]), ("a", "b"))


def scaled(*values):
    """Logits whose degree-normalised value at each node is the given one."""
    degree = torch.tensor([2.0, 3.0, 3.0, 2.0])
    return (torch.tensor(values) * degree.sqrt())[:, None]


def test_normalised_differences_are_those_of_the_given_values():
    difference = PATH.difference(scaled(1.0, 3.0, 9.0, 9.5).double()).abs()
    assert difference.flatten().tolist() == pytest.approx([2.0, 6.0, 0.5], rel=1e-6)


def test_the_ratio_is_of_wrong_to_correct_edges():
    found = edge_values(scaled(1.0, 3.0, 9.0, 9.5), TASK)
    assert found["wrong"] == pytest.approx(6.0)
    assert found["correct"] == pytest.approx((2.0 + 0.5) / 2)
    assert found["ratio"] == pytest.approx(6.0 / 1.25)


def test_a_difference_is_sparse_below_a_tenth():
    found = edge_values(scaled(0.0, 0.09, 0.24, 0.40), TASK)  # differences 0.09, 0.15, 0.16
    assert found["sparse"] == pytest.approx(100 / 3)


def test_nodes_without_a_label_belong_to_no_kind_of_edge():
    unknown = NodeTask("path", PATH, TASK.features, torch.tensor([0, 0, 1, -1]), ("a", "b"))
    found = edge_values(scaled(1.0, 3.0, 9.0, 0.0), unknown)
    assert (found["wrong"], found["correct"]) == pytest.approx((6.0, 2.0))


def test_the_objective_starts_at_that_of_the_signal_itself():
    signal = scaled(1.0, 3.0, 9.0, 9.5)
    lambda1, lambda2 = 3.0, 2.0
    series = objective_series(signal, TASK, ElasticPenalty(lambda1, lambda2), steps=30)
    by_hand = lambda1 * (2.0 + 6.0 + 0.5) + lambda2 / 2 * (2.0**2 + 6.0**2 + 0.5**2)
    assert len(series) == 31
    assert series[0] == pytest.approx(by_hand, rel=1e-6)


def test_the_objective_falls_to_the_minimum():
    from elasticgnn.solver import minimise

    signal, penalty = scaled(1.0, 3.0, 9.0, 9.5), ElasticPenalty(0.3, 0.5)
    series = objective_series(signal, TASK, penalty, steps=200)
    best = minimise(signal.double(), PATH, penalty).objective
    assert series[-1] < series[1] < series[0]
    assert series[-1] == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("name", ["table1", "table3", "table4", "figure2", "figure3"])
def test_studies_on_benchmarks_normalise_the_rows_of_the_features(name):
    features = load_task(load_spec(name).protocol, "cora", 0.0).features
    sums = features.to_dense().sum(1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


@pytest.mark.parametrize(("study", "divided"), [("table1-divided", True), ("table1", False)])
def test_rows_of_zeros_and_ones_are_divided_where_a_study_says_so(study, divided, data_root):
    features = load_task(load_spec(study).protocol, "photo", 0.0, data_root).features.to_dense()
    sums = features.sum(1)[features.sum(1) > 0]
    assert torch.allclose(sums, torch.ones_like(sums)) == divided


def test_the_trained_weights_are_measured():
    group = cell_groups(load_spec("table3"))[0]
    given = GroupTask(group, TASK)
    model = make_model(model_settings(given, Setting()), TASK, torch.Generator().manual_seed(5))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)  # as no start of a training is
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    history = History((), (), (), (), 0, 0.0, weights)
    values, series = measurements(given, Setting(), history)
    model.eval()
    with torch.no_grad():
        assert values == edge_values(model(TASK.features, TASK.graph), TASK)
        signal = model.logits(TASK.features)
    assert len(series["objective"]) == 41  # figure 3 shows 0 to 40 steps
    assert series["objective"] == objective_series(signal, TASK, model.penalty)
