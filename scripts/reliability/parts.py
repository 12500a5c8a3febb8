"""What partitioning and training on parts read."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from seed import Format


def partition_formats() -> dict[str, Format]:
    """What `elasticgnn partition` and training on parts read."""
    from elasticgnn.distributed.large_edges import pairs_of
    from elasticgnn.distributed.manifest import read_manifest

    edges = npy(np.array([[0, 1, 2], [1, 2, 3]]))
    return {
        "large edges": Format("e.npy", edges, lambda path: list(pairs_of(path, 4))),
        "manifest": Format("manifest.json", manifest(), lambda path: read_manifest(path.parent)),
        "checkpoint": Format("c.checkpoint", checkpoint(), read_checkpoint_file),
        "part, digest right": Format("neighbour.npy", neighbours(), read_part),
    }


def manifest() -> bytes:
    from elasticgnn.distributed.manifest import Manifest, PartEntry

    parts = (PartEntry(2, 3, {"rows.npy": "0" * 64}), PartEntry(2, 3, {}))
    names = ("a", "b")
    return (
        Manifest(
            **{"name": "t", "fingerprint": "f" * 64, "num_nodes": 4, "num_edges": 3},
            **{"normalization": "symmetric", "method": "metis", "class_names": names},
            **{"num_features": 2, "feature_names": names, "sparse": False, "split_rule": "paper"},
            **{"own_files": False, "files": {}, "parts": parts},
        )
        .to_json()
        .encode()
    )


def checkpoint() -> bytes:
    from safetensors.torch import save

    from elasticgnn.distributed.checkpoint import FORMAT

    about = {"format": FORMAT, "run": "r", "epochs": json.dumps([[0.5] * 4])}
    return save({"w": torch.ones(2, 2)}, about)


def read_checkpoint_file(path: Path) -> object:
    """The checkpoint, as the only process of a group reads it."""
    from elasticgnn.distributed.checkpoint import read_checkpoint

    class Alone:
        rank, processes = 0, 1

    return read_checkpoint(path, "r", Alone())  # it is asked for these two alone


def chain_of(parts: int, folder: Path) -> Path:
    """A partition of a chain of six nodes."""
    from elasticgnn import Graph
    from elasticgnn.data import NodeTask
    from elasticgnn.distributed import write_partition

    ends = torch.arange(5)
    graph = Graph.from_edge_index(torch.stack([ends, ends + 1]), 6, undirected=True)
    task = NodeTask("chain", graph, torch.eye(6), torch.arange(6) % 2, ("a", "b"))
    write_partition(task, folder, parts=parts, method="blocks")
    return folder


def neighbours() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        return (chain_of(2, Path(name) / "parts") / "part-00000" / "neighbour.npy").read_bytes()


def read_part(path: Path) -> object:
    """The graph of a partition, one array of which is the content of `path`."""
    from elasticgnn.distributed import PartitionFolder

    folder = path.parent / "parts"
    if not folder.exists():
        chain_of(2, folder)
    (folder / "part-00000" / path.name).write_bytes(path.read_bytes())
    manifest = json.loads((folder / "manifest.json").read_text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest["parts"][0]["files"][path.name] = digest
    (folder / "manifest.json").write_text(json.dumps(manifest))
    opened = PartitionFolder(folder)
    return opened.graph(), opened.task()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
