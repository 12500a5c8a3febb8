"""Cora, shipped with the package: real data without a network."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
import torch

from elasticgnn.data.npz import read_arrays
from elasticgnn.data.task import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph

BUNDLED_FILE = "bundled/cora.npz"


def bundled_cora() -> NodeTask:
    """Cora with 0/1 features; nodes in the order of cora.content, node_ids its paper ids."""
    with as_file(files("elasticgnn.data") / BUNDLED_FILE) as path:
        arrays = read_arrays(path)
    num_words = arrays["num_words"].astype(np.int64)
    start = torch.from_numpy(np.concatenate([[0], np.cumsum(num_words)]))
    words = torch.from_numpy(arrays["word"].astype(np.int32))
    edges = torch.from_numpy(arrays["edges"].astype(np.int64))
    return NodeTask(
        name="cora",
        graph=Graph.from_edge_index(edges, len(num_words), undirected=True),
        features=SparseFeatures(start, words, torch.ones(len(words)), 1433),
        labels=torch.from_numpy(arrays["label"].astype(np.int64)),
        class_names=tuple(str(name) for name in arrays["class_names"]),
        node_ids=tuple(arrays["paper_id"].tolist()),
        split_rule="20-500-1000",
    )
