"""Model files: what goes in comes out, nothing half-written, nothing foreign accepted."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from elasticgnn.nn import MODEL_NAMES, ModelSettings
from elasticgnn.training import TrainedModel, TrainingPlan, fit, make_model, trained_on
from training_task import small_split, small_task

TASK = small_task()


def trained(name="elastic", task=TASK, **settings):
    generator = torch.Generator().manual_seed(0)
    chosen = ModelSettings(name, hidden_channels=16, **settings)
    model = make_model(chosen, task, generator)
    fit(model, task, small_split(task), TrainingPlan(epochs=3), generator)
    return trained_on(task, model, chosen, {"seed": 0})


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_loaded_model_predicts_the_same(name, tmp_path):
    before = trained(name)
    before.save(tmp_path / "model.safetensors")
    after = TrainedModel.load(tmp_path / "model.safetensors")
    assert torch.equal(after.predict(TASK).probability, before.predict(TASK).probability)
    assert (after.settings, after.class_names) == (before.settings, TASK.class_names)
    assert after.data == {"name": "small", "fingerprint": TASK.fingerprint}


def test_the_file_names_versions_and_settings(tmp_path):
    trained(lambda1=1.5).save(tmp_path / "m.safetensors")
    with safe_open(tmp_path / "m.safetensors", framework="pt") as file:
        about = json.loads(file.metadata()["about"])
    assert about["settings"]["lambda1"] == 1.5
    assert set(about["versions"]) >= {"elasticgnn", "torch", "python"}


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    trained().save(path)
    old = path.read_bytes()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        trained(lambda1=9.0).save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_predicting_with_other_features_is_refused():
    other = replace(TASK, features=torch.ones(TASK.num_nodes, 5))
    with pytest.raises(ValueError, match="features must have the 24 columns"):
        trained().predict(other)


def test_stand_in_features_tie_a_model_to_its_nodes(tmp_path):
    ids = tuple(f"n{i}" for i in range(TASK.num_nodes))
    task = replace(TASK, notes=("no features given: stand-ins are ...",), node_ids=ids)
    model = trained(task=task)
    model.predict(task)
    with pytest.raises(ValueError, match="edges must name the nodes the model was trained on"):
        model.predict(replace(task, node_ids=ids[::-1]))


def test_movement_is_the_distance_between_before_and_after():
    model = trained()
    prediction = model.predict(TASK)
    with torch.no_grad():
        before = model.model.logits(TASK.features).double().softmax(1)
    expected = (prediction.probability - before).abs().sum(1) / 2
    torch.testing.assert_close(prediction.moved, expected)
    assert bool(((prediction.moved >= 0) & (prediction.moved <= 1)).all())


def test_models_without_a_before_have_no_movement():
    assert bool(trained("gcn").predict(TASK).moved.isnan().all())


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x80\x04\x95junk" * 100])
def test_junk_is_refused(content, tmp_path):
    path = tmp_path / "junk.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must be a safetensors file"):
        TrainedModel.load(path)


def test_a_safetensors_file_of_another_kind_is_refused(tmp_path):
    save_file({"w": torch.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="must be of format 'elasticgnn model 1'"):
        TrainedModel.load(tmp_path / "other.safetensors")


def test_a_cut_file_is_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    trained().save(path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match="must be a safetensors file"):
        TrainedModel.load(path)


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(ValueError, match="model must be a file"):
        TrainedModel.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="path must be in a folder that exists"):
        trained().save(tmp_path / "no" / "m.safetensors")
