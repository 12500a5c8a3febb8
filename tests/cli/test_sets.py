"""The column `set` of predictions: which classes it names is never in doubt."""

from dataclasses import replace

import pytest
import torch

from elasticgnn.cli.predict import add_sets, sign_between
from elasticgnn.nn import ModelSettings
from elasticgnn.training import Prediction, make_model
from elasticgnn.training.model.trained_model import trained_on
from training_task import small_task


@pytest.mark.parametrize(
    ("names", "sign"),
    [(("a", "b"), "|"), (("a", "b", "a|b"), ";"), (("a|b", "c;d", "e&f"), "+")],
)
def test_classes_are_separated_by_a_sign_that_none_has(names, sign):
    assert sign_between(names) == sign


def test_a_set_of_two_classes_is_not_a_class_of_that_name():
    task, settings = small_task(), ModelSettings(hidden_channels=4)
    model = make_model(settings, task, torch.Generator().manual_seed(0))
    scores = [0.1 * k for k in range(10)]
    names = ("a", "b", "a|b")[: task.num_classes]
    trained = replace(
        trained_on(task, model, settings), class_names=names, facts={"conformal": scores}
    )
    predicted = Prediction(torch.tensor([[0.5, 0.45, 0.05], [0.05, 0.05, 0.9]]), torch.zeros(2))
    rows = [{}, {}]
    words = add_sets(rows, trained, predicted, 0.6)
    assert [row["set"] for row in rows] == ["a;b", "a|b"]
    assert "';' between its classes" in words
