"""Which nodes a model was trained on, and whose class a label means."""

from dataclasses import replace

import pytest
import torch

from elasticgnn.data import block_model
from elasticgnn.nn import ModelSettings
from elasticgnn.training import make_model, trained_on
from elasticgnn.training.model.known_classes import with_known_classes
from elasticgnn.training.model.roles import node_roles


@pytest.fixture
def task():
    made = block_model([4, 4], torch.Generator().manual_seed(0), inside=0.9, between=0.1)
    return replace(made, class_names=("a", "b"), node_ids=tuple("stuvwxyz"))


def model_of(task, facts):
    settings = ModelSettings("mlp")
    return trained_on(task, make_model(settings, task, torch.Generator()), settings, facts)


def test_roles_go_by_id_whatever_the_order(task):
    split = {"train": ["s", "u"], "val": ["v"], "test": ["w"]}
    trained = model_of(task, {"split": split, "split_by_id": True})
    reversed_ids = replace(task, node_ids=tuple("zyxwvuts"))
    expected = ["unknown"] * 3 + ["held out", "held out", "trained on", "unknown", "trained on"]
    assert node_roles(trained, reversed_ids) == expected


def test_roles_by_number_are_given_for_the_same_data_only(task):
    split = {"train": [0], "val": [1], "test": []}
    trained = model_of(task, {"split": split, "split_by_id": False})
    assert node_roles(trained, task)[:3] == ["trained on", "held out", "unknown"]
    other = replace(task, labels=torch.full((8,), -1))
    assert node_roles(trained, other) is None
    assert node_roles(model_of(task, {}), task) is None


def test_labels_of_another_file_mean_the_classes_of_the_model(task):
    """A file that names the classes in another order, or only some, must not swap them."""
    names = ("a", "b")
    labels = torch.tensor([0, -1, 1, 0, 0, 0, 1, -1])
    swapped = replace(task, labels=labels, class_names=("b", "a"))
    assert with_known_classes(swapped, names).labels.tolist() == [1, -1, 0, 1, 1, 1, 0, -1]
    one = replace(task, labels=torch.where(labels == 0, 0, -1), class_names=("b",))
    assert with_known_classes(one, names).labels.tolist() == [1, -1, -1, 1, 1, 1, -1, -1]
    with pytest.raises(ValueError, match="labels must be of the classes the model knows"):
        with_known_classes(replace(task, class_names=("a", "c")), ("a", "b"))
