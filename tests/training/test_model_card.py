"""A model's folder: what is in it, and that it loads again."""

from dataclasses import replace

import pytest
import torch

from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.training import TrainedModel, trained_on
from elasticgnn.training.model.card import export_folder, model_card
from training_task import small_task


@pytest.fixture
def trained():
    task = small_task()
    settings = ModelSettings("elastic", hidden_channels=4)
    model = build_model(
        settings, task.num_features, task.num_classes, torch.Generator().manual_seed(0)
    )
    facts = {"test_accuracy": 0.75, "split": {"train": [1, 2]}}
    return task, trained_on(task, model.eval(), settings, facts)


def test_the_folder_holds_a_model_that_says_the_same(trained, tmp_path):
    task, model = trained
    export_folder(model, tmp_path / "shared", licence="mit")
    again = TrainedModel.load(tmp_path / "shared" / "model.safetensors")
    torch.testing.assert_close(
        again.predict(task).probability, model.predict(task).probability, rtol=0, atol=0
    )


def test_the_card_names_data_metrics_and_licence_but_no_list_of_nodes(trained):
    task, model = trained
    card = model_card(model, "cc-by-4.0")
    assert card.startswith('---\nlicense: "cc-by-4.0"\n')
    assert task.fingerprint in card
    assert "| test_accuracy | 0.75 |" in card
    assert "train" not in card.split("## Measured")[1].split("## How")[0]


def test_a_folder_with_files_is_not_written_into(trained, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="folder must be new or empty"):
        export_folder(trained[1], tmp_path, licence="mit")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_that_was_left_half_done_is_finished(trained, tmp_path):
    export_folder(trained[1], tmp_path, licence="mit")
    model = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "README.md").unlink()
    export_folder(trained[1], tmp_path, licence="mit")
    assert (tmp_path / "README.md").is_file()
    with pytest.raises(ValueError, match=r"folder must be new or empty, got .* with README.md"):
        export_folder(trained[1], tmp_path, licence="cc0")
    assert (tmp_path / "model.safetensors").read_bytes() == model


def test_a_link_in_the_folder_is_not_followed(trained, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "README.md").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(ValueError, match="folder must be new or empty"):
        export_folder(trained[1], tmp_path / "out", licence="mit")
    assert not (tmp_path / "mine.txt").exists()


def test_names_in_the_card_are_text(trained):
    model = trained[1]
    names = ("a\n\n# Free <script>", *model.class_names[1:])
    facts = {"k|\x1b[2J": "![x](http://x)"}
    data = {**model.data, "name": "n\n---\nlicense: gpl"}
    card = model_card(replace(model, class_names=names, facts=facts, data=data), "mit")
    assert "elastic on n --- license: gpl\n" in card.lower()
    assert "| classes | a # Free &#60;script>" in card
    assert "| k&#124;\\x1b[2J | ![x&#93;(http://x) |" in card


def test_a_licence_is_needed(trained, tmp_path):
    with pytest.raises(ValueError, match="licence must be one short name"):
        export_folder(trained[1], tmp_path / "new", licence=" ")
    assert not (tmp_path / "new").exists()


def test_the_card_names_only_settings_that_the_model_has(trained):
    task, model = trained
    assert "| lambda1, lambda2, norm | 3.0, 3.0, l21 |" in model_card(model, "mit")
    settings = ModelSettings("mlp", hidden_channels=4)
    mlp = build_model(settings, task.num_features, 1, torch.Generator().manual_seed(0))
    facts = {"family": "mlp on hops"}
    numbers = replace(trained_on(task, mlp, settings, facts), unit=(0.0, 1.0))
    card = model_card(numbers, "mit")
    assert "# mlp on hops on " in card
    assert "| classes | none: it predicts a number |" in card
    assert "lambda" not in card
    assert "steps" not in card
