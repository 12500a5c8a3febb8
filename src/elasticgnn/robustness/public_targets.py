"""The target lists of Mujkanovic et al. (2022), so that local attacks can be set side by side.

Five splits of the largest components of Cora and CiteSeer; of each, 20 test nodes of every class of
DEGREES. Each file of `targets/` names its source.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from elasticgnn.data import NodeTask, Split


@dataclass(frozen=True, eq=False)
class PublicTargets:
    """A published split and the nodes of its test part that are attacked, each alone."""

    split: Split
    nodes: Tensor


def public_targets(task: NodeTask, number: int) -> PublicTargets:
    """The split with this number (0 to 4) and its 120 targets.

    ValueError for graphs that have no list: a node's number means nothing on another graph.
    """
    lists = {one["graph"]: one for one in published()}
    mine = lists.get(task.graph.fingerprint)
    if mine is None:
        names = tuple(one["data"] for one in lists.values())
        raise ValueError(f"public targets must be used on one of {names}, got {task.name}")
    splits = mine["splits"]
    if number not in range(len(splits)):
        raise ValueError(f"seed must be 0 to {len(splits) - 1} for public targets, got {number}")
    row = splits[number]
    known = torch.zeros(task.num_nodes, dtype=torch.bool)
    known[row["train"] + row["val"]] = True
    parts = (torch.tensor(row["train"]), torch.tensor(row["val"]), (~known).nonzero().flatten())
    every = [node for nodes in row["targets"].values() for node in nodes]
    return PublicTargets(Split(*parts), torch.tensor(every))


@cache
def published() -> tuple[dict[str, Any], ...]:
    """The files of the package."""
    folder = files("elasticgnn.robustness") / "targets"
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return tuple(json.loads(entry.read_text("utf-8")) for entry in entries)
