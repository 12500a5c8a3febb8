"""The data of a cell: its task, and the split and seed of each of its runs."""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from elasticgnn.data import NodeTask, Split, load, paper_split
from elasticgnn.experiment.spec import Protocol
from elasticgnn.graph import Graph

LONG_NAMES = {
    "cs": "coauthor-cs",
    "physics": "coauthor-physics",
    "computers": "amazon-computers",
    "photo": "amazon-photo",
}


def load_task(protocol: Protocol, dataset: str, rate: float, root: Path | None = None) -> NodeTask:
    """The task that a study means by `dataset` (at an attack rate, for attacked graphs)."""
    attacked = protocol.data == "attacked"
    return named_task(protocol, f"{dataset}-meta-{rate:g}" if attacked else dataset, root)


def clean_task(protocol: Protocol, dataset: str, known_as: str, root: Path | None) -> NodeTask:
    """The task before an attack that was made on the data set `known_as`.

    Studies on attacked graphs start from the component that Metattack did, or, where the flips
    belong to the data set as it is published, from that.
    """
    published = LONG_NAMES.get(dataset, dataset)
    from_component = protocol.data == "attacked" and known_as != published
    return named_task(protocol, f"{dataset}-meta-0" if from_component else dataset, root)


def named_task(protocol: Protocol, name: str, root: Path | None) -> NodeTask:
    """The data set that a study names, or the toy of its protocol."""
    if protocol.data == "toy":
        return toy_task(torch.Generator().manual_seed(7))
    divided = {True: None, False: False, "all": True}[protocol.normalize_features]
    return load(LONG_NAMES.get(name, name), root=root, normalize_features=divided)


def run_split(task: NodeTask, protocol: Protocol, run: int) -> Split:
    """The split of run number `run`: the same for every model of a study."""
    return paper_split(task, torch.Generator().manual_seed(protocol.seed + run))


def toy_task(generator: torch.Generator, size: int = 60) -> NodeTask:
    """Two blocks of nodes with noisy features: for trying a study out in seconds."""
    labels = torch.arange(size) % 2
    same = labels[:, None] == labels[None, :]
    chance = torch.where(same, 0.12, 0.03)
    drawn = torch.rand(size, size, generator=generator) < chance
    edges = torch.triu(drawn, diagonal=1).nonzero().T
    noise = torch.randn(size, 8, generator=generator)
    features = noise + labels[:, None].float()
    graph = Graph.from_edge_index(edges, num_nodes=size, undirected=True)
    return NodeTask("toy", graph, features, labels, ("even", "odd"))


def pack_split(split: Split, num_nodes: int) -> str:
    """One digit per node (0 unused, 1 train, 2 val, 3 test), compressed, as text."""
    role = np.zeros(num_nodes, dtype=np.uint8)
    for number, part in enumerate((split.train, split.val, split.test), start=1):
        role[part.numpy()] = number
    return base64.b64encode(zlib.compress(role.tobytes(), 9)).decode("ascii")


def unpack_split(text: str) -> Split:
    """The split of `pack_split`, indices ascending."""
    role = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    parts = [torch.from_numpy(np.flatnonzero(role == number)) for number in (1, 2, 3)]
    return Split(*parts)


def split_fingerprint(packed: str) -> str:
    """Twelve hex digits that name the division, whatever the order of its lists."""
    role = zlib.decompress(base64.b64decode(packed))
    return hashlib.sha256(role).hexdigest()[:12]


def without_validation(split: Split) -> Split:
    """The same training and test nodes with nothing to select by."""
    none: Tensor = torch.empty(0, dtype=torch.int64)
    return replace(split, val=none)
