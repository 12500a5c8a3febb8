"""Training on partition folders: one result for any number of processes, the single one's."""

from itertools import pairwise

import pytest
import torch

from distributed_work import MODELS, PLAN, every_model, small_task
from elasticgnn.cli.__main__ import main
from elasticgnn.data import paper_split, read_task
from elasticgnn.distributed import (
    Checkpoints,
    PartitionFolder,
    fit_parts,
    network,
    write_partition,
)
from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.training import TrainedModel, TrainingPlan, fit, trained_on
from processes import run_together


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("training")
    write_partition(small_task(sparse=True), base / "parts", parts=5)
    return base


@pytest.fixture(scope="module")
def alone(folder):
    return every_model(folder / "one")


@pytest.mark.parametrize("count", [2, 4])
def test_weights_and_curves_do_not_depend_on_the_number_of_processes(folder, alone, count):
    for found in run_together("every_model", count, folder / f"group{count}"):
        for name in MODELS:
            assert found[name][1] == alone[name][1]
            for key, weight in alone[name][0].items():
                assert torch.equal(found[name][0][key], weight), (name, key)


@pytest.mark.parametrize("name", MODELS)
def test_training_is_that_of_the_single_process(folder, alone, name):
    task, generator = small_task(sparse=True), torch.Generator().manual_seed(2)
    settings = ModelSettings(name, hidden_channels=8, steps=3, lambda1=0.5)
    split = paper_split(task, torch.Generator().manual_seed(2))
    model = build_model(settings, task.num_features, task.num_classes, generator)
    history = fit(model, task, split, PLAN, generator)
    curves = (*history.loss, *history.val_loss, *history.val_curve, *history.test_curve)
    torch.testing.assert_close(torch.tensor(alone[name][1]), torch.tensor(curves))
    for key, weight in model.state_dict().items():
        # Adam divides by the root of tiny gradients, which magnifies rounding
        torch.testing.assert_close(alone[name][0][key], weight, rtol=1e-3, atol=1e-4)


def test_rows_that_are_forgotten_and_computed_again_have_the_same_bits(folder, alone, monkeypatch):
    for module in ("network", "loops"):
        monkeypatch.setattr(f"elasticgnn.distributed.{module}.SAVED_BYTES", 0)
    found = every_model(folder / "again")
    for name in MODELS:
        assert found[name][1] == alone[name][1]
        for key, weight in alone[name][0].items():
            assert torch.equal(found[name][0][key], weight), (name, key)


@pytest.mark.parametrize(("room", "recomputes"), [(26_000, True), (27_000, False)])
def test_rows_are_computed_again_by_their_width_whatever_the_features(
    folder, monkeypatch, room, recomputes
):
    monkeypatch.setattr(network, "SAVED_BYTES", room)  # 46 nodes x 64 numbers x 9 bytes: 26,496
    opened, settings = PartitionFolder(folder / "parts"), ModelSettings("elastic", 64)
    generator = torch.Generator().manual_seed(0)
    model = build_model(settings, opened.manifest.num_features, 3, generator)
    parted = network.PartedNetwork(model, settings, opened, opened.graph())
    assert parted.recomputes == recomputes
    first = parted.forward(seed=0)[1].stages[0]
    assert isinstance(first, network.Passed)
    assert (first.outputs is None) == recomputes


def test_early_stopping_and_resuming_give_the_undisturbed_run(folder, tmp_path):
    opened, settings = PartitionFolder(folder / "parts"), ModelSettings("elastic", 8, steps=2)
    plan = TrainingPlan(epochs=40, patience=4, ties="first")
    whole = fit_parts(opened, settings, plan)
    assert whole.history.epochs < 40
    checkpoints = Checkpoints(tmp_path / "state", every=3)

    class Stop(Exception):
        pass

    def stop_at_five(done):
        if done == 5:
            raise Stop

    with pytest.raises(Stop):
        fit_parts(opened, settings, plan, checkpoints=checkpoints, progress=stop_at_five)
    seen = []
    again = fit_parts(opened, settings, plan, checkpoints=checkpoints, progress=seen.append)
    assert seen[0] == 4
    assert again.history.loss == whole.history.loss
    assert again.history.selected_epoch == whole.history.selected_epoch
    for key, weight in whole.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[key], weight)
    with pytest.raises(ValueError, match="checkpoint must belong to this partition"):
        fit_parts(opened, settings, plan, seed=1, checkpoints=checkpoints)
    checkpoints.path.write_bytes(checkpoints.path.read_bytes()[:50])
    with pytest.raises(ValueError, match="must be a whole checkpoint"):
        fit_parts(opened, settings, plan, checkpoints=checkpoints)


def test_command_saves_a_model_file_that_predicts_on_folder_and_task(folder, tmp_path, capsys):
    model, table = tmp_path / "model.safetensors", tmp_path / "nodes.csv"
    train = ["train", str(folder / "parts"), "--epochs", "3", "--hidden", "8", "-o", str(model)]
    for command in (train, ["predict", str(model), str(folder / "parts"), "-o", str(table)]):
        with pytest.raises(SystemExit) as end:
            main(command)
        assert not end.value.code, capsys.readouterr().err
    assert not model.with_name("model.safetensors.checkpoint").exists()
    trained, task = TrainedModel.load(model), small_task(sparse=True)
    assert trained.data["fingerprint"] == task.fingerprint
    predicted = trained.predict(task)
    rows = table.read_text().splitlines()[1:]
    assert [row.split(",")[1] for row in rows] == [task.class_names[k] for k in predicted.label]
    with pytest.raises(SystemExit) as end:
        main(["inspect", str(model), str(folder / "parts")])
    assert not end.value.code
    assert f"{task.graph.num_edges} edges of small" in capsys.readouterr().out


def test_model_knows_the_words_and_medians_of_the_columns_as_that_of_one_process(tmp_path):
    names = [f"n{number}" for number in range(12)]
    rows = [
        f"{name},{('red', 'blue')[k % 2]},{'' if k == 5 else k}" for k, name in enumerate(names)
    ]
    (tmp_path / "x.csv").write_text("\n".join(["id,colour,size", *rows]))
    ring = [f"{one},{two}" for one, two in pairwise(names)]
    (tmp_path / "e.csv").write_text("\n".join(["source,target", *ring]))
    known = [f"{name},{'ab'[k % 2]}" for k, name in enumerate(names)]
    (tmp_path / "y.csv").write_text("\n".join(["id,label", *known]))
    files = [tmp_path / f"{name}.csv" for name in "exy"]
    task = read_task(*files)
    assert task.categories
    write_partition(task, tmp_path / "parts", parts=3, own_files=True)
    with pytest.raises(SystemExit) as end:
        main(["train", str(tmp_path / "parts"), "--epochs", "2", "-o", str(tmp_path / "model")])
    assert not end.value.code
    found, alone = TrainedModel.load(tmp_path / "model"), trained_on(task, *untrained(task))
    assert (found.categories, found.fill) == (alone.categories, alone.fill)
    assert found.feature_names == alone.feature_names
    assert PartitionFolder(tmp_path / "parts").task().categories == task.categories


def untrained(task):
    settings = ModelSettings("mlp", 4)
    generator = torch.Generator().manual_seed(0)
    return build_model(settings, task.num_features, task.num_classes, generator), settings
