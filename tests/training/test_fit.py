"""The training loop: selection, determinism, restored weights."""

from dataclasses import replace

import pytest
import torch

from elasticgnn.data import Split
from elasticgnn.nn import MODEL_NAMES, ElasticGNN, ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model
from elasticgnn.training.loop.autograd import accuracy, fit_by_autograd
from elasticgnn.training.loop.record import EpochResult, Record
from elasticgnn.training.population.single import can_fuse, fit_fused
from training_task import small_split, small_task

TASK, SPLIT = small_task(), small_split(small_task())


def trained(settings, seed=0, **plan):
    generator = torch.Generator().manual_seed(seed)
    model = make_model(settings, TASK, generator)
    return model, fit(model, TASK, SPLIT, TrainingPlan(**plan), generator)


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_every_model_learns(name):
    model, history = trained(name, epochs=40)
    assert history.loss[-1] < 0.9 * history.loss[0]
    assert history.test_accuracy > 0.5
    assert not model.training


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_same_seed_gives_the_same_bits(name):
    (first, one), (second, two) = (trained(name, seed=3, epochs=6) for _ in range(2))
    assert one.loss == two.loss
    for value, again in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        assert torch.equal(value, again)


def test_another_seed_gives_another_course():
    assert (
        trained("elastic", seed=1, epochs=3)[1].loss != trained("elastic", seed=2, epochs=3)[1].loss
    )


def test_training_leaves_the_global_generator_alone():
    before = torch.random.get_rng_state()
    trained("gcn", epochs=2)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("name", ["elastic", "gcn"])
def test_the_weights_of_the_selected_epoch_are_restored(name):
    model, history = trained(name, epochs=40)
    with torch.no_grad():
        logits = model(TASK.features, TASK.graph)
    assert accuracy(logits, TASK.labels, SPLIT.val) == pytest.approx(history.val_accuracy)
    assert accuracy(logits, TASK.labels, SPLIT.test) == pytest.approx(history.test_accuracy)
    assert history.val_accuracy == max(history.val_curve)
    best = [k for k, value in enumerate(history.val_curve) if value == max(history.val_curve)]
    assert history.selected_epoch == min(best, key=lambda k: history.val_loss[k])


@pytest.mark.parametrize("name", ["elastic", "mlp", "appnp"])
def test_compiled_loops_equal_autograd(name):
    courses = []
    for train in (fit_fused, fit_by_autograd):
        model = make_model(ModelSettings(name), TASK, torch.Generator().manual_seed(5))
        courses.append((model, train(model, TASK, SPLIT, TrainingPlan(epochs=20), seed=11)))
    (fused, one), (plain, two) = courses
    assert one.loss == pytest.approx(two.loss, abs=2e-5)
    assert one.selected_epoch == two.selected_epoch
    for value, other in zip(fused.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(value, other, rtol=1e-4, atol=1e-5)


def test_dense_features_train_like_sparse_ones():
    dense = replace(TASK, features=TASK.features.to_dense())
    curves = []
    for task in (TASK, dense):
        generator = torch.Generator().manual_seed(0)
        model = make_model(ModelSettings(dropout=0.0), task, generator)
        history = fit_by_autograd(model, task, SPLIT, TrainingPlan(epochs=10), seed=0)
        curves.append(history.loss)
    assert curves[0] == pytest.approx(curves[1], abs=1e-5)


def test_any_module_can_be_the_backbone():
    backbone = torch.nn.Sequential(torch.nn.Linear(TASK.num_features, 8), torch.nn.Linear(8, 3))
    model = ElasticGNN(TASK.num_features, 8, 3, backbone=backbone)
    assert not can_fuse(model, TASK)
    dense = replace(TASK, features=TASK.features.to_dense())
    generator = torch.Generator().manual_seed(0)
    history = fit(model, dense, SPLIT, TrainingPlan(epochs=30), generator)
    assert history.loss[-1] < history.loss[0]


def test_deeper_and_batch_normed_networks_train():
    settings = ModelSettings(num_layers=3, batch_norm=True, dropout=0.2)
    assert trained(settings, epochs=60)[1].test_accuracy > 0.5


def test_patience_ends_the_training():
    _, history = trained("elastic", epochs=200, patience=5)
    assert history.epochs == history.selected_epoch + 6 or history.epochs == 200
    assert history.epochs < 200


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_no_epoch_is_begun_after_the_time_is_up(name):
    _, history = trained(name, epochs=50, max_seconds=0.0)
    assert history.epochs == 1
    assert trained(name, epochs=3, max_seconds=3600.0)[1].epochs == 3


def selected(ties, *epochs):
    record = Record(None, ties)
    for val_loss, accuracy_ in epochs:
        record.add(EpochResult(0.0, val_loss, accuracy_, accuracy_ / 2))
    return record.history(1.0)


def test_validation_loss_decides_between_equally_accurate_epochs():
    history = selected("loss", (0.9, 0.7), (0.5, 0.7), (0.6, 0.7), (0.1, 0.6))
    assert history.selected_epoch == 1
    assert (history.val_accuracy, history.test_accuracy) == (0.7, 0.35)


def test_the_first_of_equally_good_epochs_is_selected_in_the_papers_studies():
    assert selected("first", (0.9, 0.5), (0.8, 0.7), (0.5, 0.7), (0.1, 0.6)).selected_epoch == 1


def test_a_majority_that_no_epoch_beats_does_not_select_the_untrained_network():
    labels = torch.where(torch.arange(TASK.num_nodes) % 5 == 0, 1, 0)
    task = replace(TASK, labels=labels, class_names=("no", "yes"))
    generator = torch.Generator().manual_seed(0)
    model = make_model(ModelSettings(), task, generator)
    history = fit(model, task, small_split(task), TrainingPlan(epochs=30), generator)
    assert history.val_loss[history.selected_epoch] < history.val_loss[0]


def test_without_validation_nodes_the_last_epoch_is_selected():
    nothing = torch.empty(0, dtype=torch.int64)
    split = Split(SPLIT.train, nothing, SPLIT.test)
    for name in ("elastic", "gcn"):
        generator = torch.Generator().manual_seed(0)
        model = make_model(name, TASK, generator)
        history = fit(model, TASK, split, TrainingPlan(epochs=7), generator)
        assert history.selected_epoch == 6


def test_a_split_without_training_nodes_is_refused():
    nothing = torch.empty(0, dtype=torch.int64)
    generator = torch.Generator()
    model = make_model("elastic", TASK, generator)
    with pytest.raises(ValueError, match="split must have training nodes"):
        fit(model, TASK, Split(nothing, SPLIT.val, SPLIT.test), TrainingPlan(), generator)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs must be >= 1"),
        ({"ties": "last"}, "ties must be one of"),
        ({"patience": 0}, "patience must be >= 1 or None"),
        ({"max_seconds": float("nan")}, "max_seconds must be a finite number >= 0"),
        ({"max_seconds": -1.0}, "max_seconds must be a finite number >= 0"),
        ({"weight_decay": float("nan")}, "weight_decay must be a finite number >= 0"),
    ],
)
def test_bad_plans_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        TrainingPlan(**change)
