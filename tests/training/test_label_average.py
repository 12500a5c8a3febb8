"""Label propagation and averages of neighbours: what arrives is divided by how much arrives."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticgnn.data import NodeTask
from elasticgnn.graph import Graph
from elasticgnn.training.model.trained_model import TrainedModel, trained_on
from elasticgnn.training.tuning.closed_form import (
    NEIGHBOURS,
    PROPAGATION,
    closed_form_candidates,
    fit_closed_form,
    number_candidates,
)
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.wrappers.label_average import LabelAverage

SIDE = 40


def field():
    """A grid of four quarters, one of them cut to a corner: classes (n,), and heights (n,)."""
    cell = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    ends = [[cell[:, :-1], cell[:, 1:]], [cell[:-1], cell[1:]]]
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in ends], axis=1)
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    classes = np.where((row < 12) & (column < 12), 1, 0)  # one node in eleven
    graph = Graph.from_edge_index(torch.from_numpy(pairs), SIDE * SIDE, undirected=True)
    return graph, classes, 100.0 + 3 * row + column


def with_known(share, *, numbers=False):
    graph, classes, heights = field()
    known = torch.from_numpy(np.random.default_rng(0).random(SIDE * SIDE) < share)
    ids = torch.eye(SIDE * SIDE)
    unknown = torch.full((SIDE * SIDE,), -1)
    if numbers:
        values = torch.where(known, torch.from_numpy((heights - 178) / 37), torch.nan)
        return NodeTask("f", graph, ids, unknown, (), values=values, made_features=True), heights
    labels = torch.where(known, torch.from_numpy(classes), unknown)
    return NodeTask("f", graph, ids, labels, ("plain", "wood"), made_features=True), classes


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_a_rare_class_is_found_however_few_labels_are_known(share):
    """What arrives shrinks with the share of known nodes; beside a fixed prior it was lost."""
    task, classes = with_known(share)
    away = (task.labels < 0).nonzero().flatten()
    evaluation, right = Evaluation(task, "accuracy", 0), []
    for candidate in closed_form_candidates(has_features=False):
        model = fit_closed_form(candidate, task, task.labelled)
        probability = evaluation.probability(candidate, model, away)
        right.append((probability.argmax(1) == classes[away.numpy()]).mean())
        np.testing.assert_allclose(probability.sum(1), 1, atol=1e-5)
    assert max(right) > 0.955
    assert min(right) > 0.9


@pytest.mark.parametrize("share", [0.03, 0.2])
def test_numbers_between_known_ones_are_their_average(share):
    task, heights = with_known(share, numbers=True)
    away = torch.isnan(task.values).nonzero().flatten()
    evaluation, truth = Evaluation(task, "r2", 0, (178.0, 37.0)), heights[away.numpy()]
    found = []
    for candidate in number_candidates(has_features=False):
        model = fit_closed_form(candidate, task, task.labelled)
        error = evaluation.probability(candidate, model, away)[:, 0] - truth
        found.append(1 - (error**2).mean() / truth.var())
    assert max(found) > 0.94


def test_a_node_that_nothing_reaches_has_the_shares_of_the_known_classes():
    task, _ = with_known(0.1)
    alone = replace(task, graph=Graph.from_edges([(0, 1)], num_nodes=SIDE * SIDE))
    model = fit_closed_form(closed_form_candidates(has_features=False)[0], alone, alone.labelled)
    shares = torch.bincount(task.labels[task.labelled]) / len(task.labelled)
    unknown = (task.labels < 0).nonzero()[-1]
    probability = model(alone.features, alone.graph).softmax(1)[unknown]
    torch.testing.assert_close(probability, shares[None])


@pytest.mark.parametrize("numbers", [False, True])
def test_its_file_gives_the_same_answers(numbers, tmp_path):
    task, _ = with_known(0.1, numbers=numbers)
    candidates = number_candidates if numbers else closed_form_candidates
    wanted = NEIGHBOURS if numbers else PROPAGATION
    candidate = next(c for c in candidates(has_features=False) if c.family == wanted)
    model = fit_closed_form(candidate, task, task.labelled)
    trained = trained_on(task, model, candidate.settings, {})
    trained = replace(trained, unit=(178.0, 37.0)) if numbers else trained
    trained.save(tmp_path / "m.safetensors")
    again = TrainedModel.load(tmp_path / "m.safetensors")
    assert isinstance(again.model, LabelAverage)
    torch.testing.assert_close(
        again.model(task.features, task.graph), model(task.features, task.graph), rtol=0, atol=0
    )
