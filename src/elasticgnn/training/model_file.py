"""Model files: weights as safetensors, everything else as JSON in its metadata."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from elasticgnn.extras import optional_imports
from elasticgnn.files import write_whole
from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.nn.build import construct
from elasticgnn.training.preparation import Preparation
from elasticgnn.training.trained_model import TrainedModel
from elasticgnn.versions import package_versions

FORMAT = "elasticgnn model 2"
State = dict[str, torch.Tensor]
WRONG = (KeyError, TypeError, RuntimeError, AttributeError, OverflowError, ZeroDivisionError)
PACKAGES = ("elasticgnn", "torch", "torch_geometric", "numpy", "safetensors")


def save_model(trained: TrainedModel, path: Path) -> None:
    """Writes the model to `path`, whole or not at all."""
    with optional_imports():
        from safetensors.torch import save

    check_described(trained)
    about = {
        "settings": asdict(trained.settings),
        "class_names": trained.class_names,
        "num_features": trained.num_features,
        "data": trained.data,
        "nodes": trained.nodes,
        "feature_names": trained.feature_names,
        "preparation": None if trained.preparation is None else asdict(trained.preparation),
        "temperature": trained.temperature,
        "categories": trained.categories,
        "fill": trained.fill,
        "bias": trained.bias,
        "unit": trained.unit,
        "facts": trained.facts,
        "versions": package_versions(PACKAGES),
    }
    state = {name: value.contiguous() for name, value in trained.model.state_dict().items()}
    text = json.dumps(about)
    metadata = {"format": FORMAT, "about": text, "digest": digest(text, state)}
    content = save(state, metadata=metadata)
    write_whole(path, content)


def check_described(trained: TrainedModel) -> None:
    """Refuses a model that its settings would not build again, such as one's own backbone."""
    ends = trained.num_features, trained.num_outputs
    other = first_difference(trained.settings, *ends, trained.model.state_dict())
    if other is not None:
        raise ValueError(f"settings must describe the model to be saved, got another {other!r}")
    check_finite(trained.model.state_dict())


def first_difference(
    settings: ModelSettings, num_features: int, num_classes: int, state: State
) -> str | None:
    """The first tensor that the settings would make otherwise than it is in `state`."""
    with torch.device("meta"):  # shapes only: the settings may ask for more than the memory holds
        built = construct(settings, num_features, num_classes).state_dict()
    wanted, found = (
        {(name, tuple(value.shape), str(value.dtype)) for name, value in each.items()}
        for each in (built, state)
    )
    return min(wanted ^ found)[0] if wanted != found else None


def digest(about: str, state: State) -> str:
    """SHA-256 of the description and of every tensor: name, type, shape, bytes."""
    sums = hashlib.sha256(about.encode())
    for name, value in sorted(state.items()):
        sums.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        sums.update(value.contiguous().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return sums.hexdigest()


def load_model(path: Path) -> TrainedModel:
    """The model of a file written by `save_model`; nothing in the file can run code."""
    about, state = read_model_file(path)
    try:
        settings = ModelSettings(**about["settings"])
        names = tuple(str(name) for name in about["class_names"])
        num_features, nodes = int(about["num_features"]), about["nodes"]
        columns = about.get("feature_names")
        steps = about.get("preparation")
        preparation = None if steps is None else Preparation(*map(tuple, steps.values()))
        temperature = float(about.get("temperature", 1.0))
        unit = about.get("unit")
        unit = None if unit is None else (float(unit[0]), float(unit[1]))
        outputs = len(names) if unit is None else 1
        check_state(settings, num_features, outputs, state)
        model = build_model(settings, num_features, outputs, torch.Generator())
        model.load_state_dict(state)
        facts = {**about["facts"], "versions": json.dumps(about["versions"])}
        data = dict(about["data"])
        parts = (nodes, columns, about.get("fill"), about.get("bias"))
        known, columns, fill, bias = (None if part is None else tuple(part) for part in parts)
        categories = tuple(about.get("categories", ()))
    except (*WRONG, ValueError) as error:
        reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise ValueError(f"{path} must be a whole model file, got {reason}") from None
    model.eval()
    kept = TrainedModel(model, settings, names, num_features, data, known, facts, columns)
    return replace(
        kept,
        preparation=preparation,
        temperature=temperature,
        categories=categories,
        fill=fill,
        bias=bias,
        unit=unit,
    )


def check_state(settings: ModelSettings, num_features: int, num_classes: int, state: State) -> None:
    """Refuses weights of other shapes than the settings have, and those that are no numbers."""
    if num_classes < 1 or num_features < 0:
        raise ValueError(f"{num_classes} classes and {num_features} features")
    if settings.num_layers > len(state):
        raise ValueError(f"{settings.num_layers} layers with {len(state)} tensors")
    other = first_difference(settings, num_features, num_classes, state)
    if other is not None:
        raise ValueError(f"a tensor {other!r} that does not fit its settings")
    check_finite(state)


def check_finite(state: State) -> None:
    """Refuses weights that are not finite."""
    for name, value in state.items():
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"weights must be finite, got values in {name!r} that are not finite")


def read_model_file(path: Path) -> tuple[dict[str, Any], State]:
    """The description and the weights in a model file."""
    with optional_imports():
        from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise ValueError(f"model must be a file, got {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except SafetensorError as error:
        raise ValueError(f"{path} must be a safetensors file, got: {error}") from None
    if metadata.get("format") != FORMAT:
        found = metadata.get("format", "no format")
        raise ValueError(f"{path} must be of format {FORMAT!r}, got {found!r}")
    about = metadata.get("about", "")
    if metadata.get("digest") != digest(about, state):
        raise ValueError(f"{path} must have the digest of its content, got a damaged file")
    try:
        return dict(json.loads(about)), state
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} must describe its model in JSON, got {error}") from None
