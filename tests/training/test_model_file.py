"""Model files: what goes in comes out, nothing half-written, nothing foreign accepted."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from elasticgnn.data.own.stand_ins import NOTE, structural_features
from elasticgnn.features import SparseFeatures
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


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model, contents = trained(), set()
    for number in range(8):  # the library alone has six orders of the metadata
        model.save(tmp_path / f"{number}.safetensors")
        contents.add((tmp_path / f"{number}.safetensors").read_bytes())
    assert len(contents) == 1


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


def named(names, features=TASK.features):
    return replace(TASK, features=features, feature_names=names)


def test_columns_are_found_by_name(tmp_path):
    names = tuple(f"word {k}" for k in range(TASK.num_features))
    trained(task=named(names)).save(tmp_path / "m.safetensors")
    model = TrainedModel.load(tmp_path / "m.safetensors")
    expected = model.predict(named(names)).probability
    dense = TASK.features.to_dense()
    more = torch.cat([torch.ones(TASK.num_nodes, 1), dense.flip(1)], dim=1)
    for features in (more, SparseFeatures.from_dense(more)):
        other = named(("new", *reversed(names)), features)
        predicted = model.predict(other).probability
        torch.testing.assert_close(predicted, expected, rtol=1e-5, atol=1e-6)
        assert "does not know are left out: new" in model.with_known_columns(other).notes[-1]
    with pytest.raises(ValueError, match=r"got none called 'word 0' and 1 more"):
        model.predict(named(names[2:], dense[:, 2:]))


def test_a_model_of_features_asks_for_them():
    alone = replace(TASK, features=structural_features(TASK.graph), made_features=True)
    with pytest.raises(ValueError, match=r"features must be given \(--features\).*24 columns"):
        trained().predict(alone)


def nameless(seed=0):
    """A task whose features are stand-ins made from the graph."""
    task = small_task(seed=seed)
    ids = tuple(f"n{i}" for i in range(task.num_nodes))
    features = structural_features(task.graph)
    return replace(
        task, features=features, notes=(NOTE,), node_ids=ids, split=None, made_features=True
    )


def test_a_model_without_features_knows_its_nodes_in_any_order():
    task = nameless()
    model = trained(task=task)
    order = torch.randperm(task.num_nodes, generator=torch.Generator().manual_seed(1))
    graph = task.graph.permute(order)
    other = replace(
        task,
        graph=graph,
        features=structural_features(graph),
        labels=task.labels[order],
        node_ids=tuple(task.node_ids[i] for i in order.tolist()),
    )
    predicted, again = model.predict(task), model.predict(other)
    torch.testing.assert_close(again.probability, predicted.probability[order])
    torch.testing.assert_close(again.moved, predicted.moved[order])


def test_a_model_without_features_names_the_node_it_does_not_know():
    task = nameless()
    model = trained(task=task)
    strange = replace(task, node_ids=("stranger", *task.node_ids[1:]))
    with pytest.raises(ValueError, match=r"the model was trained on .* got 'stranger'"):
        model.predict(strange)
    part, nodes = task.graph.subgraph(torch.arange(80)), task.node_ids[:80]
    fewer = replace(
        task,
        graph=part,
        features=structural_features(part),
        labels=task.labels[:80],
        node_ids=nodes,
    )
    with pytest.raises(ValueError, match=r"the model was trained on .* got none called 'n80'"):
        model.predict(fewer)


def test_movement_is_the_distance_between_before_and_after():
    model = trained()
    prediction = model.predict(TASK)
    with torch.no_grad():
        before = model.model.logits(TASK.features).double().softmax(1)
    expected = (prediction.probability - before).abs().sum(1) / 2
    torch.testing.assert_close(prediction.moved, expected)
    assert bool(((prediction.moved >= 0) & (prediction.moved <= 1)).all())


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_every_model_says_how_far_neighbours_moved_it(name):
    moved = trained(name).predict(TASK).moved
    assert bool(((moved >= 0) & (moved <= 1)).all())
    assert bool((moved > 0).any()) == (name != "mlp")


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x80\x04\x95junk" * 100])
def test_junk_is_refused(content, tmp_path):
    path = tmp_path / "junk.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must be a safetensors file"):
        TrainedModel.load(path)


def test_a_safetensors_file_of_another_kind_is_refused(tmp_path):
    save_file({"w": torch.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="must be of format 'elasticgnn model 2'"):
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
