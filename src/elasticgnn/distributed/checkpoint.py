"""The state of a distributed training between two epochs; that of another run is refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from elasticgnn.distributed.agreement import global_rank
from elasticgnn.distributed.graph import DistributedGraph
from elasticgnn.distributed.transport import talking
from elasticgnn.extras import optional_imports
from elasticgnn.files import write_whole
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan
from elasticgnn.training.loop.record import EpochResult

FORMAT = "elasticgnn checkpoint 1"
State = dict[str, Tensor]


def run_digest(manifest: str, settings: ModelSettings, plan: TrainingPlan, seed: int) -> str:
    """What a checkpoint belongs to: the partition's content and all settings."""
    about = [manifest, asdict(settings), asdict(plan), seed]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def write_checkpoint(path: Path, run: str, state: State, epochs: list[EpochResult]) -> None:
    """Weights, optimizer and best weights as safetensors; the curves in its metadata."""
    with optional_imports():
        from safetensors.torch import save

    curves = json.dumps([list(epoch) for epoch in epochs])
    tensors = {name: value.contiguous() for name, value in state.items()}
    write_whole(path, save(tensors, metadata={"format": FORMAT, "run": run, "epochs": curves}))


def read_checkpoint(
    path: Path, run: str, graph: DistributedGraph
) -> tuple[State, list[EpochResult]] | None:
    """What the first process finds at `path`, in every process; None if there is no file."""
    content = path.read_bytes() if graph.rank == 0 and path.exists() else b""
    content = shared_bytes(content, graph)
    if not content:
        return None
    with optional_imports():
        from safetensors import SafetensorError
        from safetensors.torch import load

    try:
        state = load(content)
        about = metadata_of(content)
        epochs = [EpochResult(*map(float, epoch)) for epoch in json.loads(about["epochs"])]
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must be a whole checkpoint, got: {error}") from None
    if about.get("format") != FORMAT or about.get("run") != run:
        raise ValueError(
            f"checkpoint must belong to this partition and these settings, got {path}: delete it "
            "or choose another file"
        )
    return state, epochs


def metadata_of(content: bytes) -> dict[str, Any]:
    """The text fields of a safetensors file: its header is JSON behind an 8-byte length."""
    size = int.from_bytes(content[:8], "little")
    found: dict[str, Any] = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    return found


def shared_bytes(content: bytes, graph: DistributedGraph) -> bytes:
    """The first process's bytes, in every process."""
    if graph.processes == 1:
        return content
    group = graph.exchange.group
    first, size = global_rank(0, group), torch.tensor([len(content)])
    with talking():
        dist.broadcast(size, first, group=group)
    box = torch.empty(int(size), dtype=torch.uint8)
    if graph.rank == 0 and content:
        box = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    if len(box):
        with talking():
            dist.broadcast(box, first, group=group)
    return box.numpy().tobytes()
