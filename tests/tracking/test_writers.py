"""Callbacks get what training, studies and the solver measure; the writers' files say it."""

import pytest
import torch

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.data import block_model, share_split
from elasticgnn.experiment import WorkPlan, cells, cut_down, load_spec, read_result, run_study
from elasticgnn.solver import minimise
from elasticgnn.tracking import MLflowWriter, TensorBoardWriter, together
from elasticgnn.training import TrainingPlan, fit, make_model


class Notes(list):
    """A callback that remembers."""

    def __call__(self, run, step, values):
        self.append((run, step, dict(values)))


def small_fit(name, callback):
    generator = torch.Generator().manual_seed(0)
    task = block_model([20, 20], generator, inside=0.3)
    split = share_split(task.labels, generator, train=0.2, val=0.2)
    model = make_model(name, task, generator)
    return fit(model, task, split, TrainingPlan(epochs=4), generator, callback=callback)


@pytest.mark.parametrize("name", ["elastic", "gcn"])
def test_training_tells_every_epoch_what_its_history_says(name):
    notes = Notes()
    history = small_fit(name, notes)
    assert [(run, step) for run, step, _ in notes] == [("fit", k) for k in range(4)]
    assert tuple(values["val_accuracy"] for *_, values in notes) == history.val_curve
    assert tuple(values["loss"] for *_, values in notes) == history.loss


def test_the_solver_tells_its_gap_down_to_the_last():
    notes = Notes()
    x = torch.randn(400, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ring = Graph.from_edges([(k, (k + 1) % 400) for k in range(400)], normalization="none")
    found = minimise(x, ring, ElasticPenalty(2.0, 0.0), method="ascent", callback=notes)
    assert notes[-1] == ("minimise", found.steps, {"relative_gap": found.relative_gap})
    assert {run for run, *_ in notes} == {"minimise"}


def test_a_study_tells_every_training(tmp_path):
    notes = Notes()
    spec = cut_down(load_spec("table1"), epochs=2, runs=2, settings=1).restricted(models=("sgc",))
    plan = WorkPlan(f"sqlite:///{tmp_path}/study.db", tmp_path)
    run_study(spec, plan, callback=notes)
    result = read_result(tmp_path, spec, cells(spec)[0])
    assert {values["test"] for *_, values in notes} >= {run.test for run in result.runs}


def test_tensorboard_reads_back_what_was_logged(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    notes = Notes()
    with TensorBoardWriter(tmp_path) as writer:
        small_fit("elastic", together(notes, writer))
    read = EventAccumulator(str(tmp_path / "fit")).Reload()
    assert sorted(read.Tags()["scalars"]) == sorted(notes[0][2])
    stored = [(event.step, event.value) for event in read.Scalars("val_loss")]
    logged = [(step, pytest.approx(values["val_loss"])) for _, step, values in notes]
    assert stored == logged


@pytest.mark.filterwarnings("ignore")  # MLflow's own imports and its store warn about themselves
def test_mlflow_reads_back_what_was_logged(tmp_path):
    from mlflow.tracking import MlflowClient

    uri, notes = f"sqlite:///{tmp_path}/mlflow.db", Notes()
    with MLflowWriter(uri) as writer:
        small_fit("elastic", together(notes, writer))
    client = MlflowClient(tracking_uri=uri)
    (run,) = client.search_runs([writer.experiment_id])
    stored = [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, "loss")]
    assert stored == [(step, values["loss"]) for _, step, values in notes]
    assert run.info.status == "FINISHED"


@pytest.mark.filterwarnings("ignore")  # as above
def test_mlflow_marks_what_broke_as_failed(tmp_path):
    from mlflow.tracking import MlflowClient

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    writer = MLflowWriter(uri)
    with pytest.raises(ZeroDivisionError), writer:
        writer("fit", 1 // 0 if writer("fit", 0, {"loss": 1.0}) is None else 0, {})
    (run,) = MlflowClient(tracking_uri=uri).search_runs([writer.experiment_id])
    assert run.info.status == "FAILED"
