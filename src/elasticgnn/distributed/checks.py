"""Can a partition folder hold what it says? Its digests tell damage, not what was meant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.distributed.part import Part

NUMBERS = ("num_nodes", "num_edges", "num_features", "nodes", "neighbours")
TYPES = {
    **dict.fromkeys(NUMBERS, int),
    **dict.fromkeys(("name", "fingerprint", "normalization", "method", "split_rule"), str),
    **dict.fromkeys(("sparse", "own_files"), bool),
    **dict.fromkeys(("class_names", "parts", "categories"), list),
    "files": dict,
}
FRACTIONS = ("weight", "features", "feature_value")  # arrays of other than whole numbers


def check_content(content: Mapping[str, Any]) -> None:
    """Refuses a manifest, or an entry of its parts, with values of other kinds."""
    for name, value in content.items():
        kind = TYPES.get(name)
        if kind is not None and type(value) is not kind:  # True is no number here
            raise ValueError(f"{name} as {type(value).__name__}")
        if kind is int and value < 0:
            raise ValueError(f"{name} {value}")
    for name, digest in content["files"].items():
        if Path(name).name != name or not isinstance(digest, str):
            raise ValueError(f"a file {name!r}")


def check_sums(content: Mapping[str, Any]) -> None:
    """Refuses parts that do not have all nodes and both ends of all edges."""
    nodes, neighbours = (
        sum(entry[name] for entry in content["parts"]) for name in ("nodes", "neighbours")
    )
    if nodes != content["num_nodes"] or neighbours != 2 * content["num_edges"]:
        raise ValueError(
            f"{nodes} nodes with {neighbours} neighbours in parts of a graph of "
            f"{content['num_nodes']} nodes and {content['num_edges']} edges"
        )


def check_fill(content: Mapping[str, Any]) -> None:
    """Refuses medians that are not a number for each column of the features."""
    fill, width = content.get("fill"), content["num_features"]
    if fill is None:
        return
    numbers = isinstance(fill, list) and all(type(one) in (int, float) for one in fill)
    if not numbers or len(fill) != width:
        raise ValueError(f"fill that is not {width} numbers")


def check_kind(array: NDArray[Any], name: str, path: Path) -> None:
    """Refuses whole numbers for fractions, and the other way round."""
    wanted = "f" if name in FRACTIONS else "i"
    if array.dtype.kind != wanted:
        rule = "fractions" if wanted == "f" else "whole numbers"
        raise ValueError(f"{path} must hold {rule}, got {array.dtype}")


def check_range(array: NDArray[Any], size: int, bounds: tuple[int, int], path: Path) -> None:
    """Refuses another length than `size`, and values outside bounds[0] .. bounds[1] - 1."""
    if array.shape != (size,):
        raise ValueError(f"{path} must have shape ({size},), got {array.shape}")
    low, high = bounds
    if size and not low <= int(array.min()) <= int(array.max()) < high:
        found = int(array.min()), int(array.max())
        raise ValueError(f"{path} must hold numbers of {low} .. {high - 1}, got {found}")


def check_part(part: Part, sizes: tuple[int, int], num_nodes: int, folder: Path) -> None:
    """Refuses a part whose nodes, starts, neighbours and weights do not belong together."""
    nodes, neighbours = sizes
    check_range(part.nodes, nodes, (0, num_nodes), folder / "nodes.npy")
    check_range(part.neighbour, neighbours, (0, num_nodes), folder / "neighbour.npy")
    check_range(part.start, nodes + 1, (0, neighbours + 1), folder / "start.npy")
    rows = np.diff(part.start)
    if part.start[0] != 0 or part.start[-1] != neighbours or (rows < 0).any():
        raise ValueError(f"{folder / 'start.npy'} must ascend from 0 to {neighbours}")
    if (np.diff(part.nodes) <= 0).any():
        raise ValueError(f"{folder / 'nodes.npy'} must ascend")
    falls = np.flatnonzero(np.diff(part.neighbour) <= 0) + 1
    if not np.isin(falls, part.start).all():
        raise ValueError(f"{folder / 'neighbour.npy'} must ascend for each node")
    if part.weight is not None:
        good = np.isfinite(part.weight) & (part.weight >= 0)
        if part.weight.shape != (neighbours,) or not good.all():
            raise ValueError(f"{folder / 'weight.npy'} must hold {neighbours} weights >= 0")
