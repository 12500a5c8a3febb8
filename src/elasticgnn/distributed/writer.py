"""Writes a task as a partition folder; a second call goes on where a killed one stopped."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.distributed.assignment import check_parts
from elasticgnn.distributed.manifest import (
    MANIFEST,
    PLAN,
    Manifest,
    PartEntry,
    part_folder,
    read_manifest,
)
from elasticgnn.distributed.part import Part
from elasticgnn.distributed.source import PartSource, TaskSource
from elasticgnn.files import check_folder, file_digest, whole_file, write_whole

PART = "part.json"
UNNAMED = ".elasticgnn-"  # a file that a kill met between its last byte and its name
MERGE = "merge"  # where a large edge file is sorted; gone in the end


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
    check_folder(folder)
    source = TaskSource(task)
    folder.mkdir(parents=True, exist_ok=True)
    return write_source(
        source, folder, parts=parts, method=method, own_files=own_files, progress=progress
    )


def write_source(
    source: PartSource,
    folder: Path,
    *,
    parts: int,
    method: str,
    own_files: bool,
    progress: Callable[[int], None] | None = None,
) -> Manifest:
    """The same for any source of parts; `folder` exists."""
    check_parts(parts, source.num_nodes)
    facts = source.facts
    plan = {"fingerprint": facts["fingerprint"], "parts": parts, "method": method}
    if claim(folder, plan):
        return read_manifest(folder)
    assignment = resumed_assignment(folder, source, parts, method)
    entries = []
    for part in source.parts(assignment):
        entries.append(write_part(part, source, part_folder(folder, part.number)))
        if progress is not None:
            progress(part.number + 1)
    manifest = Manifest(
        **facts,
        method=method,
        own_files=own_files,
        files=write_common(source, folder),
        parts=tuple(entries),
    )
    manifest.write(folder)
    return manifest


def claim(folder: Path, plan: dict[str, Any]) -> bool:
    """Whether the folder holds this partition already; one with other content is refused."""
    check_claim(folder)
    path = folder / PLAN
    if not path.exists():
        write_whole(path, json.dumps(plan) + "\n")
        return False
    if json.loads(path.read_text("utf-8")) != plan:
        raise ValueError(f"output must be an empty folder or this same partition, got {folder}")
    return (folder / MANIFEST).exists()


def check_claim(folder: Path) -> None:
    """Refuses a folder that holds anything but a partition or what a killed call left of one."""
    found = {path.name for path in folder.iterdir() if not path.name.startswith(UNNAMED)}
    if not (folder / PLAN).exists() and found - {MERGE}:
        raise ValueError(f"output must be an empty folder or this same partition, got {folder}")


def resumed_assignment(
    folder: Path, source: PartSource, parts: int, method: str
) -> NDArray[np.int32]:
    """The part of each node; a first answer stays, since METIS may give another."""
    path = folder / "assignment.npy"
    if not path.exists():
        write_array(path, source.assignment(parts, method))
    found: NDArray[np.int32] = np.load(path, allow_pickle=False)
    return found


def write_part(part: Part, source: PartSource, folder: Path) -> PartEntry:
    """The entry of a part; what was written whole before is kept."""
    listing = folder / PART
    if listing.exists():
        return PartEntry(**json.loads(listing.read_text("utf-8")))
    folder.mkdir(exist_ok=True)
    arrays = {"nodes": part.nodes, "start": part.start, "neighbour": part.neighbour}
    if part.weight is not None:
        arrays["weight"] = part.weight
    arrays |= source.feature_arrays(part.nodes)
    files = {f"{name}.npy": write_array(folder / f"{name}.npy", a) for name, a in arrays.items()}
    entry = {"nodes": len(part), "neighbours": len(part.neighbour), "files": files}
    write_whole(listing, json.dumps(entry) + "\n")
    return PartEntry(len(part), len(part.neighbour), files)


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


def write_common(source: PartSource, folder: Path) -> dict[str, str]:
    """SHA-256 of the files that belong to no part, which it writes."""
    arrays = source.arrays
    files = {f"{name}.npy": write_array(folder / f"{name}.npy", a) for name, a in arrays.items()}
    files["assignment.npy"] = file_digest(folder / "assignment.npy")
    if source.node_ids is not None:
        content = json.dumps(source.node_ids).encode()
        write_whole(folder / "node_ids.json", content)
        files["node_ids.json"] = hashlib.sha256(content).hexdigest()
    return files
