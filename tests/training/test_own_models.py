"""Modules that are not the library's: as a backbone, and as the whole model."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import Sequential
from torch_geometric.nn.models import GCN

from elasticgnn.nn import EMP, ElasticGNN, FeatureLinear, ModelSettings
from elasticgnn.training import TrainingPlan, fit, predict, trained_on
from training_task import small_split, small_task

TASK, SPLIT = small_task(), small_split(small_task())
COLUMNS = TASK.num_features


def seeded(build):
    """The module, its weights the same at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build()


def perceptron(first=nn.Linear):
    return nn.Sequential(first(COLUMNS, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))


def elastic(first=nn.Linear):
    return ElasticGNN(COLUMNS, 16, 3, backbone=perceptron(first))


class OnGraph(nn.Module):
    """A model in the library's terms: features and a Graph."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(COLUMNS, 3)

    def forward(self, x, graph):
        return graph.smooth(nn.functional.dropout(self.linear(x), 0.5, self.training))


def layers():
    steps = [(nn.Linear(COLUMNS, 3), "x -> x"), (EMP(K=3), "x, edge_index -> x")]
    return Sequential("x, edge_index", steps)


MODELS = {
    "any backbone": elastic,
    "a backbone for sparse features": lambda: elastic(FeatureLinear),
    "a model on a Graph": OnGraph,
    "a model of torch_geometric": lambda: GCN(COLUMNS, 16, 2, 3, dropout=0.5),
    "a Sequential of torch_geometric": layers,
}


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_a_foreign_module_learns_on_sparse_features(build):
    model = seeded(build)
    plan = TrainingPlan(epochs=40)
    history = fit(model, TASK, SPLIT, plan, torch.Generator().manual_seed(0))
    assert history.test_accuracy > 0.5
    prediction = predict(model, TASK.features, TASK.graph)
    right = (prediction.label == TASK.labels)[SPLIT.test].double().mean()
    assert float(right) == pytest.approx(history.test_accuracy)


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_its_dropout_comes_from_the_given_generator(build):
    courses, states = [], []
    for noise in (1, 2):
        model = seeded(build)
        torch.manual_seed(noise)
        before = torch.random.get_rng_state()
        history = fit(model, TASK, SPLIT, TrainingPlan(epochs=3), torch.Generator().manual_seed(7))
        courses.append(history.loss)
        states.append(torch.equal(before, torch.random.get_rng_state()))
    assert courses[0] == courses[1]
    assert states == [True, True]


def test_edge_weights_reach_a_model_of_torch_geometric():
    model = seeded(MODELS["a model of torch_geometric"])
    weighted = TASK.graph.with_weight(torch.rand(TASK.graph.num_edges).double() + 0.5)
    same, other = (predict(model, TASK.features, g).probability for g in (TASK.graph, weighted))
    index, weight = weighted.to_edge_index()
    with torch.no_grad():
        expected = model(TASK.features.to_dense(), index, weight.float()).double().softmax(1)
    torch.testing.assert_close(other, expected)
    assert not torch.allclose(same, other)


def test_a_model_that_its_settings_do_not_describe_is_not_saved(tmp_path):
    trained = trained_on(TASK, elastic(), ModelSettings(hidden_channels=16))
    with pytest.raises(ValueError, match="settings must describe the model to be saved"):
        trained.save(tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []
