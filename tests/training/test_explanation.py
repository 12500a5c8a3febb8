"""Explanations: planted causes are found, and every effect is what taking the part away does."""

from dataclasses import replace

import pytest
import torch

from elasticgnn.data import NodeTask, block_model
from elasticgnn.graph import Graph
from elasticgnn.nn import ModelSettings
from elasticgnn.training import explain, explain_number, make_model, trained_on
from elasticgnn.training.model.preparation import fit_preparation


def planted() -> NodeTask:
    """Node 0 knows nothing; neighbour 1 is loud and of class b, 2 to 4 whisper a; 5 is alone."""
    index = torch.tensor([[0, 0, 0, 0, 1], [1, 2, 3, 4, 6]])
    features = torch.zeros(7, 3)
    features[1, 1] = features[6, 1] = 1.0
    features[2:5, 0] = 0.05
    features[5] = torch.tensor([0.2, 1.0, 0.7])
    graph = Graph.from_edge_index(index, 7, undirected=True)
    labels = torch.full((7,), -1)
    names = ("quiet", "loud", "useless")
    return NodeTask("p", graph, features, labels, ("a", "b"), tuple("stuvwxy"), feature_names=names)


def linear_model(task):
    """Logits of class a are 4 times the first column, of b 4 times the second; then propagation."""
    settings = ModelSettings(num_layers=1, dropout=0.0, lambda1=0.3, lambda2=1.0, steps=4)
    model = make_model(settings, task, torch.Generator())
    with torch.no_grad():
        parts = dict(model.named_parameters())
        parts["backbone.first.weight"].copy_(torch.tensor([[4.0, 0], [0, 4.0], [0, 0]]))
        parts["backbone.first.bias"].zero_()
    return replace(trained_on(task, model, settings), temperature=1.5)


def test_the_neighbour_that_decided_is_found():
    task = planted()
    known = explain(linear_model(task), task, 0)
    assert known.label == "b"
    assert (known.alone, known.num_neighbours) == (pytest.approx(0.5), 4)
    assert known.neighbours[0].name == "t"
    assert known.neighbours[0].effect > 0.05
    assert all(part.effect < 0 for part in known.neighbours[1:])
    against = explain(linear_model(task), task, 0, label="a")
    assert against.neighbours[0].effect == pytest.approx(-known.neighbours[0].effect)


def test_the_feature_that_decided_is_found():
    task = planted()
    known = explain(linear_model(task), task, 5)
    with_it, without = (torch.tensor(x).sigmoid() for x in (3.2 / 1.5, -0.8 / 1.5))
    assert [part.name for part in known.features] == ["loud", "quiet", "useless"]
    assert known.features[0].effect == pytest.approx(float(with_it - without), abs=1e-6)
    assert known.features[0].value == 1.0
    assert known.features[2].effect == 0
    assert known.neighbours == ()


@pytest.mark.parametrize("name", ["elastic", "appnp", "gcn", "sage", "gat", "mlp"])
@pytest.mark.parametrize("sparse", [False, True])
def test_effects_are_those_on_the_whole_graph(name, sparse):
    """The subgraph leaves out what cannot reach the node, and nothing else."""
    from elasticgnn.features import SparseFeatures

    generator = torch.Generator().manual_seed(1)
    task = block_model([40, 40], generator, inside=0.06, between=0.01, signal=1.0)
    if sparse:
        kept = torch.where(task.features.abs() > 0.7, task.features, 0.0)
        task = replace(task, features=SparseFeatures.from_dense(kept))
    settings = ModelSettings(name, steps=2)
    trained = trained_on(task, make_model(settings, task, generator), settings)
    trained = replace(trained, preparation=fit_preparation(task.features), temperature=0.7)
    node = int(task.graph.degree.argmax())
    known = explain(trained, task, node)
    target = trained.class_names.index(known.label)
    predicted = trained.predict(task).probability[node, target]
    assert known.probability == pytest.approx(float(predicted), abs=1e-6)
    pair = torch.tensor([[node, known.neighbours[0].node]])
    without = trained.predict(task.with_graph(task.graph.with_edges_flipped(pair)))
    effect = float(predicted - without.probability[node, target])
    assert known.neighbours[0].effect == pytest.approx(effect, abs=1e-6)
    moved = float(trained.predict(task).moved[node])
    assert abs(known.probability - known.alone) == pytest.approx(moved, abs=1e-6)  # two classes
    assert known.features


def test_what_cannot_be_explained_is_refused():
    task = planted()
    with pytest.raises(ValueError, match=r"node must be in 0\.\.6, got 7"):
        explain(linear_model(task), task, 7)
    with pytest.raises(ValueError, match="class must be one of"):
        explain(linear_model(task), task, 0, label="c")


def number_model(task):
    """Deviations are twice the first column, propagated; numbers are 100 + 10 of them."""
    task = replace(task, class_names=(), values=torch.zeros(7).double())
    settings = ModelSettings(num_layers=1, dropout=0.0, lambda1=0.3, lambda2=1.0, steps=4)
    model = make_model(settings, task, torch.Generator())
    with torch.no_grad():
        parts = dict(model.named_parameters())
        parts["backbone.first.weight"].copy_(torch.tensor([[0.0], [2.0], [0.0]]))
        parts["backbone.first.bias"].zero_()
    return replace(trained_on(task, model, settings), unit=(100.0, 10.0))


def test_a_number_is_explained_in_its_unit():
    task = planted()
    trained = number_model(task)
    known = explain_number(trained, task, 0)
    predicted = trained.predict_numbers(task)
    assert known.value == pytest.approx(float(predicted.value[0]), abs=1e-5)
    assert abs(known.value - known.alone) == pytest.approx(float(predicted.moved[0]), abs=1e-5)
    assert known.neighbours[0].name == "t"
    pair = torch.tensor([[0, 1]])
    without = trained.predict_numbers(task.with_graph(task.graph.with_edges_flipped(pair)))
    effect = float(predicted.value[0] - without.value[0])
    assert known.neighbours[0].effect == pytest.approx(effect, abs=1e-5)
    assert effect > 0.5
    assert known.neighbours[0].label == known.written(float(predicted.value[1]))
    lonely = explain_number(trained, task, 5)
    assert lonely.value == pytest.approx(120, abs=1e-4)
    assert (lonely.features[0].name, lonely.features[0].value) == ("loud", 1.0)
    assert lonely.features[0].effect == pytest.approx(20, abs=1e-4)


def test_classes_and_numbers_are_not_mixed_up():
    task = planted()
    with pytest.raises(ValueError, match="model must predict classes, got one of numbers"):
        explain(number_model(task), task, 0)
    with pytest.raises(ValueError, match="must have been trained with --target number"):
        explain_number(linear_model(task), task, 0)
