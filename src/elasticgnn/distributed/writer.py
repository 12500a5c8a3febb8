"""Writes a task as a partition folder; a second call goes on where a killed one stopped."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.distributed.assignment import check_parts, partition
from elasticgnn.distributed.manifest import (
    MANIFEST,
    Manifest,
    PartEntry,
    part_folder,
    read_manifest,
)
from elasticgnn.distributed.part import Part, cut_parts
from elasticgnn.features import SparseFeatures
from elasticgnn.files import check_folder, whole_file, write_whole

PART = "part.json"


def write_partition(
    task: NodeTask,
    folder: Path,
    *,
    parts: int = 64,
    method: str = "metis",
    own_files: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Manifest:
    """The manifest of `folder`, which holds `task` in `parts` parts.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.distributed import write_partition
    >>> with TemporaryDirectory() as place:
    ...     len(write_partition(task, Path(place) / "parts", parts=3).parts)
    3
    """
    if task.made_features:
        raise ValueError("features must be given for a partition, got stand-ins made of the edges")
    check_folder(folder)
    check_parts(parts, task.num_nodes)
    folder.mkdir(parents=True, exist_ok=True)
    plan = {"fingerprint": task.fingerprint, "parts": parts, "method": method}
    if claim(folder, plan):
        return read_manifest(folder)
    assignment = resumed_assignment(folder, task, parts, method)
    entries = []
    for part in cut_parts(task.graph, assignment):
        entries.append(write_part(part, task, part_folder(folder, part.number)))
        if progress is not None:
            progress(part.number + 1)
    manifest = describe(task, folder, tuple(entries), method, own_files)
    manifest.write(folder)
    return manifest


def claim(folder: Path, plan: dict[str, Any]) -> bool:
    """Whether the folder holds this partition already; one with other content is refused."""
    path = folder / "plan.json"
    if not path.exists():
        if any(folder.iterdir()):
            raise ValueError(f"output must be an empty folder or this same partition, got {folder}")
        write_whole(path, json.dumps(plan) + "\n")
        return False
    if json.loads(path.read_text("utf-8")) != plan:
        raise ValueError(f"output must be an empty folder or this same partition, got {folder}")
    return (folder / MANIFEST).exists()


def resumed_assignment(folder: Path, task: NodeTask, parts: int, method: str) -> torch.Tensor:
    """The part of each node; a first answer stays, since METIS may give another."""
    path = folder / "assignment.npy"
    if not path.exists():
        write_array(path, partition(task.graph, parts, method=method).numpy())
    return torch.from_numpy(np.load(path, allow_pickle=False))


def write_part(part: Part, task: NodeTask, folder: Path) -> PartEntry:
    """The entry of a part; what was written whole before is kept."""
    listing = folder / PART
    if listing.exists():
        return PartEntry(**json.loads(listing.read_text("utf-8")))
    folder.mkdir(exist_ok=True)
    arrays = {"nodes": part.nodes, "start": part.start, "neighbour": part.neighbour}
    if part.weight is not None:
        arrays["weight"] = part.weight
    arrays |= feature_arrays(task, part.nodes)
    files = {f"{name}.npy": write_array(folder / f"{name}.npy", a) for name, a in arrays.items()}
    entry = {"nodes": len(part), "neighbours": len(part.neighbour), "files": files}
    write_whole(listing, json.dumps(entry) + "\n")
    return PartEntry(len(part), len(part.neighbour), files)


def feature_arrays(task: NodeTask, nodes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Rows of the features; for sparse ones also where each row begins among all stored values."""
    index = torch.from_numpy(nodes)
    if not isinstance(task.features, SparseFeatures):
        return {"features": task.features[index].numpy()}
    rows = task.features.rows(index)
    return {
        "feature_start": rows.start.numpy(),
        "feature_column": rows.column.numpy(),
        "feature_value": rows.value.numpy(),
        "feature_first": task.features.start[index].numpy(),
    }


def write_array(path: Path, array: NDArray[Any]) -> str:
    """SHA-256 of the .npy file that is written, whole or not at all."""
    header = io.BytesIO()
    content = np.ascontiguousarray(array)
    np.lib.format.write_array_header_2_0(header, np.lib.format.header_data_from_array_1_0(content))
    digest = hashlib.sha256(header.getvalue())
    digest.update(content.data)
    with whole_file(path) as file:
        file.write(header.getvalue())
        file.write(content.data)
    return digest.hexdigest()


def describe(
    task: NodeTask, folder: Path, entries: tuple[PartEntry, ...], method: str, own_files: bool
) -> Manifest:
    """The manifest, with the arrays that belong to no part written beside it."""
    arrays = {"labels": task.labels.numpy()}
    if task.split is not None:
        arrays |= {name: getattr(task.split, name).numpy() for name in ("train", "val", "test")}
    files = {f"{name}.npy": write_array(folder / f"{name}.npy", a) for name, a in arrays.items()}
    files["assignment.npy"] = file_digest(folder / "assignment.npy")
    if task.node_ids is not None:
        content = json.dumps(list(task.node_ids)).encode()
        write_whole(folder / "node_ids.json", content)
        files["node_ids.json"] = hashlib.sha256(content).hexdigest()
    return Manifest(
        name=task.name,
        fingerprint=task.fingerprint,
        num_nodes=task.num_nodes,
        num_edges=task.graph.num_edges,
        normalization=task.graph.normalization,
        method=method,
        class_names=task.class_names,
        num_features=task.num_features,
        feature_names=task.feature_names,
        sparse=isinstance(task.features, SparseFeatures),
        split_rule=task.split_rule,
        own_files=own_files,
        files=files,
        parts=entries,
    )


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
