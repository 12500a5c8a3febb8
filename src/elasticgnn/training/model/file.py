"""Model files: weights as safetensors, everything else as JSON in its metadata."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from elasticgnn.extras import optional_imports
from elasticgnn.files import write_whole
from elasticgnn.nn import ModelSettings
from elasticgnn.training.model.description import check_description
from elasticgnn.training.model.preparation import Preparation
from elasticgnn.training.model.trained_model import TrainedModel
from elasticgnn.training.wrappers.ensemble import construct_members, count_members
from elasticgnn.training.wrappers.hops import count_hops
from elasticgnn.training.wrappers.label_average import averages_labels
from elasticgnn.versions import package_versions

FORMAT = "elasticgnn model 2"
State = dict[str, torch.Tensor]
WRONG = (KeyError, TypeError, RuntimeError, AttributeError, OverflowError, ZeroDivisionError)
MOST_HOPS = 9
PACKAGES = ("elasticgnn", "torch", "torch_geometric", "numpy", "safetensors")


def save_model(trained: TrainedModel, path: Path) -> None:
    """Writes the model to `path`, whole or not at all."""
    write_whole(path, model_bytes(trained))


def model_bytes(trained: TrainedModel) -> bytes:
    """The content of a model file."""
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
        "members": count_members(trained.model),
        "hops": count_hops(trained.model),
        "averages_labels": int(averages_labels(trained.model)),
        "facts": trained.facts,
        "versions": package_versions(PACKAGES),
    }
    state = {name: value.contiguous() for name, value in trained.model.state_dict().items()}
    text = json.dumps(about)
    check_description(json.loads(text))
    metadata = {"format": FORMAT, "about": text, "digest": digest(text, state)}
    return in_one_order(save(state, metadata=metadata))


def in_one_order(content: bytes) -> bytes:
    """The same safetensors file, its metadata sorted: the library writes them in any order."""
    end = 8 + int.from_bytes(content[:8], "little")
    head = json.loads(content[8:end])
    head["__metadata__"] = dict(sorted(head["__metadata__"].items()))
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # what follows begins at a multiple of 8
    return len(text).to_bytes(8, "little") + text + content[end:]


def check_described(trained: TrainedModel) -> None:
    """Refuses a model that its settings would not build again, such as one's own backbone."""
    shape = Shape(
        trained.settings,
        trained.num_features,
        trained.num_outputs,
        count_members(trained.model),
        trained.unit is not None,
        count_hops(trained.model),
        averages_labels(trained.model),
    )
    other = shape.first_difference(trained.model.state_dict())
    if other is not None:
        raise ValueError(f"settings must describe the model to be saved, got another {other!r}")
    check_finite(trained.model.state_dict())


@dataclass(frozen=True)
class Shape:
    """All that decides which tensors a model has."""

    settings: ModelSettings
    num_features: int
    num_outputs: int
    members: int
    of_numbers: bool
    hops: int = 0
    averages: bool = False

    def build(self) -> nn.Module:
        """A model of this shape; its weights are drawn from torch's global state."""
        sizes = self.num_features, self.num_outputs, self.members
        return construct_members(
            self.settings,
            *sizes,
            of_numbers=self.of_numbers,
            hops=self.hops,
            averages=self.averages,
        )

    def first_difference(self, state: State) -> str | None:
        """The first tensor that would be made otherwise than it is in `state`."""
        with torch.device("meta"):  # the settings may ask for more than the memory holds
            built = self.build().state_dict()
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
        check_description(about)
        return described_model(about, state)
    except (*WRONG, ValueError) as error:
        reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise ValueError(f"{path} must be a whole model file, got {reason}") from None


def described_model(about: dict[str, Any], state: State) -> TrainedModel:
    """The model that a checked description and its weights make."""
    settings = ModelSettings(**about["settings"])
    names, num_features = tuple(map(str, about["class_names"])), int(about["num_features"])
    unit = about.get("unit")
    unit = None if unit is None else (float(unit[0]), float(unit[1]))
    outputs, members = len(names) if unit is None else 1, int(about.get("members", 1))
    hops = int(about.get("hops", 0))
    averages = bool(about.get("averages_labels", 0))
    shape = Shape(settings, num_features, outputs, members, unit is not None, hops, averages)
    check_state(shape, state)
    with torch.random.fork_rng(devices=[]):  # weights are drawn, and then replaced
        model = shape.build()
    model.load_state_dict(state)
    facts = {**about["facts"], "versions": json.dumps(about["versions"])}
    steps = about.get("preparation")
    parts = (about["nodes"], about.get("feature_names"), about.get("fill"), about.get("bias"))
    nodes, columns, fill, bias = (None if part is None else tuple(part) for part in parts)
    trained = TrainedModel(
        model.eval(), settings, names, num_features, dict(about["data"]), nodes, facts, columns
    )
    return replace(
        trained,
        preparation=None if steps is None else Preparation(*map(tuple, steps.values())),
        temperature=float(about.get("temperature", 1.0)),
        categories=tuple(about.get("categories", ())),
        fill=fill,
        bias=bias,
        unit=unit,
    )


def check_state(shape: Shape, state: State) -> None:
    """Refuses weights of other shapes than the settings have, and those that are no numbers."""
    if shape.num_outputs < 1 or shape.num_features < 0 or shape.members < 1:
        raise ValueError(
            f"{shape.num_outputs} classes, {shape.num_features} features, {shape.members} members"
        )
    if not 0 <= shape.hops <= MOST_HOPS:
        raise ValueError(f"hops must be in 0..{MOST_HOPS}, got {shape.hops}")
    if shape.members * shape.settings.num_layers > len(state):
        layers = f"{shape.settings.num_layers} layers of {shape.members} members"
        raise ValueError(f"{layers} with {len(state)} tensors")
    other = shape.first_difference(state)
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
