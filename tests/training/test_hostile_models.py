"""Model files that are damaged or made to annoy: refused by name, within the size of the file."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.training import TrainedModel
from elasticgnn.training.model.file import FORMAT, digest
from memory import forget_peak, peak

MEGABYTE = 1 << 20


@pytest.fixture
def path(tmp_path):
    settings = ModelSettings("elastic", hidden_channels=4, batch_norm=True)
    model = build_model(settings, 5, 2, torch.Generator())
    TrainedModel(model, settings, ("a", "b"), 5).save(tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def parts(path):
    with safe_open(path, framework="pt") as file:
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 not a dict
        return json.loads(file.metadata()["about"]), state


def rewrite(path, about, state):
    """A file whose digest is right, as somebody with bad intent would make it."""
    text = about if isinstance(about, str) else json.dumps(about)
    save_file(state, path, {"format": FORMAT, "about": text, "digest": digest(text, state)})


SETTINGS = {
    "hidden_channels": [100_000_000, 0, -1, 2.5, "4", None, 10**30],
    "num_layers": [10**9, 0, 3, "2"],
    "heads": [0, -1],
    "steps": [2**31, 2**63, -1, "3"],
    "name": ["gat", "evil", 3, None],
    "dropout": [1.0, "a", None],
    "lambda1": [-1, "a"],
    "norm": ["l7", 3],
    "unknown": [1],
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, vs in SETTINGS.items() for v in vs])
def test_settings_that_do_not_fit_the_weights_are_refused(path, name, value):
    about, state = parts(path)
    about["settings"][name] = value
    rewrite(path, about, state)
    before = forget_peak()
    with pytest.raises(ValueError, match=r"m\.safetensors must be a whole model file"):
        TrainedModel.load(path)
    assert peak() - before < 100 * MEGABYTE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_features", 10**8),
        ("num_features", "x"),
        ("num_features", None),
        ("class_names", []),
        ("class_names", 3),
        ("settings", 3),
        ("facts", 3),
        ("data", 3),
        ("nodes", 3),
    ],
)
def test_a_wrong_description_is_refused(path, name, value):
    about, state = parts(path)
    rewrite(path, about | {name: value}, state)
    with pytest.raises(ValueError, match=r"m\.safetensors must be a whole model file"):
        TrainedModel.load(path)


NAN, INFINITY = float("nan"), float("inf")
VALUES = {  # that would give wrong probabilities without a word, or end in a traceback later
    "temperature": [NAN, 0, 0.0, -1.0, INFINITY, "2", True],
    "bias": [["a", "b"], [1.0], [NAN, 0.0], [INFINITY, 0.0], "ab", {"0": 1.0, "1": 2.0}],
    "fill": [[1.0], ["x"] * 5, [NAN] * 5],
    "unit": [[0.0, 0.0], [0.0, -1.0], [NAN, 1.0], [1.0], [0.0, 1.0, 2.0], "ab"],
    "preparation": [
        {"center": [0.0] * 5, "scale": [0.0] * 5},
        {"center": [0.0] * 5, "scale": [1.0] * 4},
        {"center": [NAN] * 5, "scale": [1.0] * 5},
        {"scale": [1.0] * 5, "other": [0.0] * 5},
    ],
    "class_names": ["ab", [["a"], ["b"]], [None, None]],
    "feature_names": ["abcde", ["a"], [None] * 5],
    "nodes": ["abc", [None]],
    "categories": [[["a"]], "ab"],
    "num_features": [5.5, True, "5"],
    "members": [1.5, "1"],
    "hops": [0.5, False],
    "data": [{"name": 5}, {"fingerprint": [1]}],
    "facts": [{"conformal": "ab"}, {"conformal": ["a"]}, {"conformal": [NAN]}, {"conformal": 3}],
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, vs in VALUES.items() for v in vs])
def test_values_that_no_training_gives_are_refused(path, name, value):
    about, state = parts(path)
    rewrite(path, about | {name: value}, state)
    with pytest.raises(ValueError, match=r"m\.safetensors must be a whole model file"):
        TrainedModel.load(path)


def test_a_model_with_such_values_is_not_saved(path):
    with pytest.raises(ValueError, match="temperature must hold positive values"):
        replace(TrainedModel.load(path), temperature=NAN).save(path.with_name("other"))
    assert not path.with_name("other").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, '{"settings": {}}'])
def test_a_description_that_is_none_is_refused(path, text):
    rewrite(path, text, parts(path)[1])
    with pytest.raises(ValueError, match=r"m\.safetensors must"):
        TrainedModel.load(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers_are_refused(path, value):
    about, state = parts(path)
    name = next(name for name in state if name.endswith("weight"))
    state[name].view(-1)[0] = value
    rewrite(path, about, state)
    with pytest.raises(ValueError, match=r"values in .* that are not finite"):
        TrainedModel.load(path)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64, torch.float16, torch.complex64])
def test_weights_of_another_type_are_refused(path, dtype):
    about, state = parts(path)
    name = next(name for name in state if name.endswith("weight"))
    state[name] = state[name].to(dtype)
    rewrite(path, about, state)
    with pytest.raises(ValueError, match="does not fit its settings"):
        TrainedModel.load(path)


def test_a_flipped_bit_anywhere_is_found(path):
    content = path.read_bytes()
    for place in range(8, len(content), 97):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ValueError, match=r"m\.safetensors must"):
            TrainedModel.load(path)
    path.write_bytes(content)
    TrainedModel.load(path)


def test_a_model_that_learned_nonsense_is_not_saved(tmp_path):
    settings = ModelSettings("mlp", hidden_channels=4)
    model = build_model(settings, 5, 2, torch.Generator())
    with torch.no_grad():
        next(iter(model.parameters())).fill_(float("nan"))
    with pytest.raises(ValueError, match="not finite"):
        TrainedModel(model, settings, ("a", "b"), 5).save(tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []
