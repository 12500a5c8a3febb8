"""Model files: weights as safetensors, everything else as JSON in its metadata."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.training.trained_model import TrainedModel

FORMAT = "elasticgnn model 1"
PACKAGES = ("elasticgnn", "torch", "torch_geometric", "numpy", "safetensors")


def save_model(trained: TrainedModel, path: Path) -> None:
    """Writes the file under a temporary name beside `path` and renames it."""
    from safetensors.torch import save

    check_described(trained)
    about = {
        "settings": asdict(trained.settings),
        "class_names": trained.class_names,
        "num_features": trained.num_features,
        "data": trained.data,
        "nodes": trained.nodes,
        "facts": trained.facts,
        "versions": library_versions(),
    }
    state = {name: value.contiguous() for name, value in trained.model.state_dict().items()}
    content = save(state, metadata={"format": FORMAT, "about": json.dumps(about)})
    write_whole(path, content)


def check_described(trained: TrainedModel) -> None:
    """Refuses a model that its settings would not build again, such as one's own backbone."""
    ends = trained.num_features, len(trained.class_names)
    built = build_model(trained.settings, *ends, torch.Generator()).state_dict()
    wanted, found = (
        {name: tuple(value.shape) for name, value in state.items()}
        for state in (built, trained.model.state_dict())
    )
    if wanted != found:
        name = min(set(wanted.items()) ^ set(found.items()))[0]
        raise ValueError(f"settings must describe the model to be saved, got another {name!r}")


def write_whole(path: Path, content: bytes) -> None:
    """Leaves either the old file or the complete new one, whatever happens."""
    if not path.parent.is_dir():
        raise ValueError(f"path must be in a folder that exists, got {path}")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_model(path: Path) -> TrainedModel:
    """The model of a file written by `save_model`; nothing in the file can run code."""
    about, state = read_model_file(path)
    try:
        settings = ModelSettings(**about["settings"])
        names = tuple(str(name) for name in about["class_names"])
        num_features, nodes = int(about["num_features"]), about["nodes"]
        model = build_model(settings, num_features, len(names), torch.Generator())
        model.load_state_dict(state)
        facts = {**about["facts"], "versions": json.dumps(about["versions"])}
        data = dict(about["data"])
    except (KeyError, TypeError, RuntimeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} must be a whole model file, got one without {reason}") from None
    model.eval()
    known = None if nodes is None else tuple(nodes)
    return TrainedModel(model, settings, names, num_features, data, known, facts)


def read_model_file(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The description and the weights in a model file."""
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
    return json.loads(metadata["about"]), state


def library_versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
