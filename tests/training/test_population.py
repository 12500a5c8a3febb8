"""Populations: each run gives what it gives alone, and what autograd gives."""

from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import torch

from at_work import threads_at_work
from elasticgnn.data import Split
from elasticgnn.features import SparseFeatures
from elasticgnn.nn import ModelSettings
from elasticgnn.problem import PENALTIES
from elasticgnn.training import Run, TrainingPlan, fit, fit_population, make_model
from elasticgnn.training.population.fit_population import batch_size, batches, fit_alone
from elasticgnn.training.population.run import run_of
from marks import needs_kernels
from training_task import small_split, small_task

TASK = small_task()


def varied_runs(task=TASK):
    return [
        Run(
            split=small_split(task, seed=k % 3),
            seed=k,
            learning_rate=[0.01, 0.05][k % 2],
            weight_decay=[5e-4, 0.0, 5e-3][k % 3],
            dropout=[0.5, 0.8, 0.0, 0.3][k % 4],
            lambda1=[3.0, 0.0, 9.0, 0.5][k % 4],
            lambda2=[3.0, 6.0, 0.0][k % 3],
        )
        for k in range(7)
    ]


def fit_for(epochs, runs, settings=None, **options):
    plan = TrainingPlan(epochs=epochs)
    return fit_population(TASK, runs, settings or ModelSettings(), plan, **options)


def assert_same_course(a, b, tolerance=2e-5):
    # Sums in another order: float32 rounding, grown a little over the epochs.
    torch.testing.assert_close(torch.tensor(a.loss), torch.tensor(b.loss), rtol=0, atol=tolerance)
    torch.testing.assert_close(
        torch.tensor(a.val_loss), torch.tensor(b.val_loss), rtol=0, atol=tolerance
    )
    assert a.val_curve == pytest.approx(b.val_curve, abs=1e-9)
    assert a.test_curve == pytest.approx(b.test_curve, abs=1e-9)
    assert a.selected_epoch == b.selected_epoch


def assert_each_equals_autograd(task, runs, settings, plan):
    together = fit_population(task, runs, settings, plan)
    for run, history in zip(runs, together, strict=True):
        assert_same_course(history, fit_alone(task, run, settings, plan, False))


@pytest.mark.parametrize("hidden", [64, 16, 5, 80])
def test_each_run_equals_autograd(hidden):
    runs = varied_runs()
    settings, plan = ModelSettings(hidden_channels=hidden, steps=4), TrainingPlan(epochs=12)
    assert_each_equals_autograd(TASK, runs, settings, plan)


@pytest.mark.parametrize("hidden", [64, 16, 5, 80])
def test_each_run_of_gcn_equals_autograd(hidden):
    runs, plan = varied_runs(), TrainingPlan(epochs=12)
    settings = ModelSettings("gcn", hidden_channels=hidden)
    assert_each_equals_autograd(TASK, runs, settings, plan)


@pytest.mark.parametrize("classes", [2, 8, 9, 17])
def test_gcn_on_weighted_edges_with_any_number_of_classes_equals_autograd(classes):
    task = small_task(classes, n=12 * classes)
    weight = 0.1 + torch.rand(task.graph.num_edges, generator=torch.Generator().manual_seed(1))
    task = replace(task, graph=task.graph.with_weight(weight))
    settings, plan = ModelSettings("gcn"), TrainingPlan(epochs=6)
    runs = varied_runs(task)[:2]
    assert_each_equals_autograd(task, runs, settings, plan)


@pytest.mark.parametrize("classes", [2, 8, 9, 17])
def test_any_number_of_classes_equals_autograd(classes):
    task = small_task(classes, n=12 * classes)
    runs = varied_runs(task)[:2]
    settings, plan = ModelSettings(steps=3), TrainingPlan(epochs=6)
    assert_each_equals_autograd(task, runs, settings, plan)


def test_each_run_equals_itself_alone():
    runs = varied_runs()
    together = fit_for(25, runs)
    for run, history in zip(runs, together, strict=True):
        assert_same_course(history, fit_for(25, [run])[0])


def test_a_population_of_one_equals_fit():
    run = varied_runs()[0]
    generator = torch.Generator().manual_seed(run.seed)
    settings = ModelSettings(dropout=run.dropout, lambda1=run.lambda1, lambda2=run.lambda2)
    model = make_model(settings, TASK, generator)
    plan = TrainingPlan(run.learning_rate, run.weight_decay, epochs=15)
    alone = fit(model, TASK, run.split, plan, generator)
    (member,) = fit_for(15, [run], return_weights=True)
    assert_same_course(alone, member)
    for name, value in model.named_parameters():
        torch.testing.assert_close(value, member.weights[name])


def test_fit_trains_gcn_as_a_batch_of_one():
    settings, plan = ModelSettings("gcn"), TrainingPlan(epochs=15)
    run = run_of(settings, plan, small_split(TASK), seed=2)
    generator = torch.Generator().manual_seed(2)
    model = make_model(settings, TASK, generator)
    alone = fit(model, TASK, run.split, plan, generator)
    (member,) = fit_for(15, [run], settings, return_weights=True)
    assert alone.loss == member.loss
    assert model.state_dict().keys() == member.weights.keys()
    for name, value in model.state_dict().items():
        assert torch.equal(value, member.weights[name])


@pytest.mark.parametrize("name", ["elastic", "gcn"])
def test_the_kept_weights_give_the_selected_accuracy(name):
    run = varied_runs()[0]
    settings = ModelSettings(name, lambda1=run.lambda1, lambda2=run.lambda2)
    (history,) = fit_for(30, [run], settings, return_weights=True)
    model = make_model(settings, TASK, torch.Generator()).eval()
    model.load_state_dict(history.weights)
    predicted = model(TASK.features, TASK.graph).argmax(1)
    right = (predicted == TASK.labels)[run.split.test].double().mean()
    assert float(right) == pytest.approx(history.test_accuracy)


def test_finished_runs_leave_and_the_others_go_on_unchanged():
    runs = varied_runs()
    patient = fit_population(TASK, runs, ModelSettings(), TrainingPlan(epochs=60, patience=8))
    lengths = {history.epochs for history in patient}
    assert len(lengths) > 1
    endless = fit_for(max(lengths), runs)
    for short, long in zip(patient, endless, strict=True):
        assert short.epochs - 1 - short.selected_epoch == 8 or short.epochs == 60
        # Who else is in the batch must not matter, to rounding.
        assert short.loss == pytest.approx(long.loss[: short.epochs], abs=1e-4)


@pytest.mark.parametrize("norm", [*PENALTIES])
def test_every_norm_trains(norm):
    runs = [replace(run, lambda1=1.0, lambda2=3.0) for run in varied_runs()[:2]]
    for history in fit_for(60, runs, ModelSettings(norm=norm)):
        assert history.test_accuracy > 0.5


@needs_kernels
@pytest.mark.parametrize("settings", [ModelSettings(), ModelSettings("gcn")])
def test_same_bits_on_one_and_two_threads(settings):
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(fit_for(8, varied_runs(), settings))
            assert threads_at_work(lambda: fit_for(1, varied_runs(), settings)) >= threads
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert one.loss == two.loss
        assert one.val_loss == two.val_loss


@pytest.mark.parametrize(
    "view", [lambda v: v.repeat_interleave(2)[::2], lambda v: torch._neg_view(-v)]
)
def test_features_may_be_any_view(view):
    plain = SparseFeatures.from_dense(TASK.features.to_dense())
    one, other = (
        fit_population(
            replace(TASK, features=features),
            varied_runs()[:1],
            ModelSettings(),
            TrainingPlan(epochs=3),
        )
        for features in (plain, plain.with_value(view(plain.value)))
    )
    assert one[0].loss == other[0].loss


def test_no_steps_is_an_mlp():
    run = replace(varied_runs()[0], lambda1=3.0)
    (history,) = fit_for(10, [run], ModelSettings(steps=0))
    (mlp,) = fit_for(10, [replace(run, lambda1=0.0, lambda2=0.0)])
    assert history.loss == mlp.loss


def test_a_batch_holds_the_runs_that_fit_into_a_gigabyte():
    task = SimpleNamespace(num_features=3, num_nodes=1_000_000, num_classes=5, num_outputs=5)
    task.graph = SimpleNamespace(num_edges=2_000_000)
    # numbers of 4 bytes: 9 weights, 2 + (2 + 4) 5 for a node, 3 * 5 duals for an edge: 248 MB
    assert batch_size(task, 1, 1) == 4
    assert batch_size(task, 1, 9) == 1  # 888 MB
    task.graph.num_edges = task.num_nodes = 1000
    assert batch_size(task, 1, 1) == 16


def test_batches_name_every_run_once_and_keep_full_ones_of_one_kind():
    runs = [replace(varied_runs()[0], lambda1=[3.0, 0.0, 6.0][k % 3]) for k in range(50)]
    groups = batches(runs, 8)
    assert sorted(number for group in groups for number in group) == list(range(50))
    assert max(map(len, groups)) <= 8
    mixed = [group for group in groups if len({runs[n].lambda1 == 0 for n in group}) > 1]
    assert len(mixed) <= 1
    assert len(groups) == 7  # 50 runs in groups of 8


def test_progress_counts_every_run_epoch():
    seen = []
    fit_for(3, varied_runs(), progress=lambda done, best: seen.append(done))
    assert sum(seen) == 3 * len(varied_runs())


def test_runs_without_training_nodes_are_refused():
    nothing = torch.empty(0, dtype=torch.int64)
    run = Run(Split(nothing, torch.arange(3), torch.arange(3, 6)))
    with pytest.raises(ValueError, match="split of run 0 must have training nodes"):
        fit_for(1, [run])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": -1.0}, "learning_rate must be a finite number >= 0"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\)"),
        ({"lambda1": float("inf")}, "lambda1 must be a finite number >= 0"),
        ({"lambda2": float("nan")}, "lambda2 must be a number >= 0"),
    ],
)
def test_bad_settings_of_a_run_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(varied_runs()[0], **change)


def test_models_without_a_batch_form_are_refused():
    with pytest.raises(ValueError, match="settings must be of a two-layer elastic model or gcn"):
        fit_for(1, varied_runs(), ModelSettings("sgc"))


def test_finished_runs_of_gcn_leave_and_the_others_go_on_unchanged():
    runs, settings = varied_runs(), ModelSettings("gcn")
    patient = fit_population(TASK, runs, settings, TrainingPlan(epochs=60, patience=8))
    assert len({history.epochs for history in patient}) > 1
    endless = fit_for(60, runs, settings)
    for short, long in zip(patient, endless, strict=True):
        assert short.loss == pytest.approx(long.loss[: short.epochs], abs=1e-4)


@pytest.mark.parametrize("name", ["elastic", "gcn"])
def test_no_epoch_of_a_batch_is_begun_after_the_time_is_up(name):
    plan = TrainingPlan(epochs=50, max_seconds=0.0)
    histories = fit_population(TASK, varied_runs(), ModelSettings(name), plan)
    assert {history.epochs for history in histories} == {1}


@pytest.mark.parametrize("settings", [ModelSettings("appnp", alpha=0.2), ModelSettings("mlp")])
def test_appnp_and_mlp_train_as_the_elastic_models_they_are(settings):
    plan, split = TrainingPlan(epochs=10), small_split(TASK)
    (history,) = fit_population(TASK, [run_of(settings, plan, split, seed=3)], settings, plan)
    generator = torch.Generator().manual_seed(3)
    alone = fit(make_model(settings, TASK, generator), TASK, split, plan, generator)
    assert history.loss == pytest.approx(alone.loss, abs=2e-5)


OTHER_PLANS = {  # of every field another value; what a Run has itself replaces the plan's
    "learning_rate": 0.03,
    "weight_decay": 5e-3,
    "epochs": 5,
    "patience": 2,
    "ties": "loss only",
    "max_seconds": 3600.0,
    "loss": "huber",  # of numbers: classes take no notice
    "balanced": True,
}


@pytest.mark.parametrize("name", [field.name for field in fields(TrainingPlan)])
def test_every_setting_of_the_plan_means_the_same_to_a_batch_and_to_one_run(name):
    plan = replace(TrainingPlan(epochs=12), **{name: OTHER_PLANS[name]})
    split = small_split(TASK)
    rare = split.train[(TASK.labels[split.train] > 0) | (torch.arange(len(split.train)) < 3)]
    runs = [replace(run_of(ModelSettings(), plan, split, 0), split=replace(split, train=rare))]
    assert_each_equals_autograd(TASK, runs, ModelSettings(hidden_channels=16), plan)
