"""What was done to the features in training is done again to those of other files."""

import pytest
import torch

from elasticgnn.data import read_task
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainedModel, make_model, trained_on
from elasticgnn.training.model.known_classes import as_fed

EDGES = "source,target\na,b\nb,c\nc,d\n"
TRAINING = "id,size,city\na,1,Rome\nb,,Bonn\nc,3,Rome\nd,8,Oslo\n"


def read(folder, features):
    (folder / "edges.csv").write_text(EDGES)
    (folder / "features.csv").write_text(features)
    return read_task(folder / "edges.csv", folder / "features.csv")


@pytest.fixture
def trained(tmp_path):
    task = read(tmp_path, TRAINING)
    task = type(task)(
        "t",
        task.graph,
        task.features,
        torch.tensor([0, 1, 0, 1]),
        ("x", "y"),
        feature_names=task.feature_names,
        categories=task.categories,
        missing=task.missing,
    )
    settings = ModelSettings("mlp")
    model = make_model(settings, task, torch.Generator().manual_seed(0))
    trained_on(task, model, settings).save(tmp_path / "m.safetensors")
    return TrainedModel.load(tmp_path / "m.safetensors")


def test_missing_numbers_get_the_median_of_the_training(trained, tmp_path):
    fed = trained.prepared(read(tmp_path, TRAINING.replace("8", "80").replace("1,", ",")))
    assert fed.features[:, 0].tolist() == [3.0, 3.0, 3.0, 80.0]


def test_unseen_words_belong_to_no_category(trained, tmp_path):
    fed = trained.prepared(read(tmp_path, TRAINING.replace("Oslo", "Paris")))
    assert fed.feature_names == ("size", "city=Bonn", "city=Oslo", "city=Rome")
    assert fed.features[3].tolist() == [8, 0, 0, 0]
    assert fed.features[0].tolist() == [1, 0, 0, 1]
    assert any("words the model does not know" in note and "Paris" in note for note in fed.notes)


def test_columns_in_another_order_keep_their_gaps(trained, tmp_path):
    reordered = "city,size,id\nRome,1,a\nBonn,,b\nRome,3,c\nOslo,8,d\n"
    fed = trained.prepared(read(tmp_path, reordered))
    assert fed.features.tolist() == trained.prepared(read(tmp_path, TRAINING)).features.tolist()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("id,size,city\na,1,4\nb,2,5\nc,3,6\nd,8,7\n", "column 'city' must hold words as in train"),
        ("id,size,city\na,x,A\nb,y,B\nc,x,A\nd,y,B\n", "column 'size' must hold numbers as in"),
        ("id,size\na,1\nb,2\nc,3\nd,8\n", "got none called 'city'"),
    ],
)
def test_columns_of_another_kind_are_refused(trained, tmp_path, features, message):
    task = read(tmp_path, features)
    with pytest.raises(ValueError, match=message):
        trained.prepared(task)


def test_a_model_of_a_file_is_fed_by_its_own_preparation(trained, tmp_path):
    task = read(tmp_path, TRAINING.replace("8", "80"))
    for own in (True, False):
        fed = as_fed(task, trained, own=own)
        assert fed.features.tolist() == trained.prepared(task).features.tolist()
        assert fed.class_names == ("x", "y")


def test_a_new_model_is_fed_own_files_prepared_and_data_sets_as_they_are(trained, tmp_path):
    task = read(tmp_path, TRAINING)
    assert as_fed(task, None, own=False) is task
    sizes = as_fed(task, None, own=True).features[:, 0]
    assert abs(float(sizes.mean())) < 1e-6
    assert abs(float(sizes.std(correction=0)) - 1) < 1e-6
