"""Training on the rows that the nodes of a split see: the same curves as on all rows."""

import math
from dataclasses import replace

import pytest
import torch

from elasticgnn.data import load, paper_split
from elasticgnn.features import DropoutNoise
from elasticgnn.features.dropout import RowNoise
from elasticgnn.nn import MLP, SGC, ModelSettings
from elasticgnn.nn.field import Field
from elasticgnn.training import TrainingPlan, fit, make_model
from elasticgnn.training.fit import fit_lean
from elasticgnn.training.loop.field import FieldInputs, has_field

PLAN = TrainingPlan(0.02, 5e-4, epochs=25, patience=10, ties="first")


@pytest.fixture(scope="module")
def task():
    return load("cora")


@pytest.fixture(scope="module")
def split(task):
    return paper_split(task, torch.Generator().manual_seed(1))


def trained(train, task, name):
    generator = torch.Generator().manual_seed(3)
    rate = 0.5 if name == "gat" else 0.0
    settings = ModelSettings(name, hidden_channels=16, dropout=0.5, attention_dropout=rate)
    model = make_model(settings, task, generator)
    return train(model, generator), model


@pytest.mark.parametrize("name", ["cheb", "gat", "gcn", "sage", "sgc"])
def test_curves_weights_and_choice_are_those_of_all_rows(name, task, split):
    inputs = FieldInputs(task)
    whole, one = trained(lambda m, g: fit(m, task, split, PLAN, g), task, name)
    lean, other = trained(lambda m, g: fit_lean(m, inputs, split, PLAN, g), task, name)
    assert has_field(other, task, split)
    assert lean.loss == pytest.approx(whole.loss, rel=1e-3)
    assert lean.val_loss == pytest.approx(whole.val_loss, rel=1e-3)
    assert lean.val_curve == pytest.approx(whole.val_curve, abs=2.1 / len(split.val))
    assert lean.selected_epoch == whole.selected_epoch
    assert lean.test_accuracy == pytest.approx(whole.test_accuracy, abs=0.003)
    weights = other.state_dict()
    for key, value in one.state_dict().items():
        torch.testing.assert_close(weights[key], value, rtol=0.02, atol=0.002)


def test_test_nodes_are_looked_at_in_chosen_epochs_only(task, split):
    lean, _ = trained(lambda m, g: fit_lean(m, FieldInputs(task), split, PLAN, g), task, "sgc")
    best = -1.0
    for val, test in zip(lean.val_curve, lean.test_curve, strict=True):
        assert math.isnan(test) == (val <= best)
        best = max(best, val)


def test_a_field_is_the_nodes_their_neighbours_and_theirs(task, split):
    field = Field.around(task.graph, split.train)
    seen = [set(split.train.tolist())]
    index = task.graph.to_edge_index()[0]
    for _ in range(2):
        near = {b for a, b in index.T.tolist() if a in seen[-1]}
        seen.append(seen[-1] | near)
    assert field.order[: field.sizes[0]].tolist() == split.train.tolist()
    for size, nodes in zip(field.sizes, seen, strict=True):
        assert set(field.order[:size].tolist()) == nodes
        assert size == len(nodes)


def test_rows_have_the_masks_of_the_whole(monkeypatch):
    rows, width = torch.tensor([7, 2]), 5
    positions = {4: (rows * width, torch.tensor([0, width, 2 * width]))}
    want = DropoutNoise(3, 8).keep(50, 0.3, 4).view(10, width)[rows]
    some = RowNoise(3, 8, positions)
    assert torch.equal(some.keep(10, 0.3, 4).view(2, width), want)
    apart = tuple(part.repeat_interleave(2)[::2] for part in positions[4])
    assert torch.equal(RowNoise(3, 8, {4: apart}).keep(10, 0.3, 4).view(2, width), want)
    monkeypatch.setattr("elasticgnn.features.dropout.native", None)
    assert torch.equal(some.keep(10, 0.3, 4).view(2, width), want)


def test_a_split_without_training_nodes_is_refused(task, split):
    bare = replace(split, train=split.train[:0])
    with pytest.raises(ValueError, match="split must have training nodes, got none"):
        fit_lean(SGC(1433, 7), FieldInputs(task), bare, PLAN, torch.Generator())


def without_val(task, split):
    return SGC(1433, 7), task, replace(split, val=split.val[:0]), PLAN


def three_steps(task, split):
    return SGC(1433, 7, K=3), task, split, PLAN


def dense(task, split):
    return SGC(1433, 7), replace(task, features=task.features.to_dense()), split, PLAN


def class_weights(task, split):
    return SGC(1433, 7), task, split, replace(PLAN, balanced=True)


def without_graph(task, split):
    return MLP(1433, 16, 7), task, split, PLAN


@pytest.mark.parametrize(
    "case",
    [without_val, three_steps, dense, class_weights, without_graph],
    ids=lambda c: c.__name__,
)
def test_what_has_no_field_is_trained_on_all_rows(case, task, split):
    model, task, split, plan = case(task, split)
    assert plan.balanced or not has_field(model, task, split)
    start, plan = model.state_dict(), replace(plan, epochs=3)
    start = {name: value.clone() for name, value in start.items()}
    lean = fit_lean(model, FieldInputs(task), split, plan, torch.Generator().manual_seed(1))
    model.load_state_dict(start)
    whole = fit(model, task, split, plan, torch.Generator().manual_seed(1))
    assert lean.loss == whole.loss
    assert lean.test_curve == whole.test_curve
