"""Cora, CiteSeer and PubMed as the Planetoid project stores them: eight files each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from elasticgnn.data.safe_pickle import read_pickle
from elasticgnn.data.split import Split
from elasticgnn.data.task import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph

PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")

# The order of the columns of the label files; only Cora's is known by name.
CLASS_NAMES = {
    "cora": (
        "Theory",
        "Reinforcement_Learning",
        "Genetic_Algorithms",
        "Neural_Networks",
        "Probabilistic_Methods",
        "Case_Based",
        "Rule_Learning",
    )
}


def planetoid_files(name: str) -> tuple[str, ...]:
    """The files of a citation network, relative to the data folder."""
    return tuple(f"planetoid/ind.{name}.{part}" for part in PARTS)


def read_planetoid(name: str, files: dict[str, Path]) -> NodeTask:
    """The task `name` in Planetoid's own node order, with its public split; features as stored.

    Nodes between the first and last test index that have no row (15 in CiteSeer) get an empty
    feature row and no label.
    """
    path = {part: files[f"planetoid/ind.{name}.{part}"] for part in PARTS}
    neighbours: dict[int, list[int]] = read_pickle(path["graph"])
    test = np.loadtxt(path["test.index"], dtype=np.int64, ndmin=1)
    num_nodes = max(int(test.max()) + 1, max(neighbours) + 1)
    allx, tx = read_pickle(path["allx"]), read_pickle(path["tx"])
    matrix = place_rows(allx, tx, test, num_nodes)
    labels = place_labels(read_pickle(path["ally"]), read_pickle(path["ty"]), test, num_nodes)
    num_train = len(read_pickle(path["y"]))
    num_classes = int(labels.max()) + 1
    return NodeTask(
        name=name,
        graph=graph_from_neighbours(neighbours, num_nodes),
        features=SparseFeatures.from_scipy(matrix),
        labels=torch.from_numpy(labels),
        class_names=CLASS_NAMES.get(name, tuple(str(label) for label in range(num_classes))),
        split=public_split(num_train, test),
        split_rule="20-500-1000",
    )


def place_rows(
    allx: sparse.csr_array, tx: sparse.csr_array, test: NDArray[np.int64], num_nodes: int
) -> sparse.csr_array:
    """Row i of the result is node i's: `allx` comes first, row k of `tx` belongs to test[k]."""
    stacked = sparse.coo_array(sparse.vstack([allx, tx]))
    node_of_row = np.concatenate([np.arange(allx.shape[0]), test])
    row = node_of_row[stacked.coords[0]]
    shape = (num_nodes, allx.shape[1])
    return sparse.csr_array((stacked.data, (row, stacked.coords[1])), shape=shape)


def place_labels(
    ally: NDArray[np.int64], ty: NDArray[np.int64], test: NDArray[np.int64], num_nodes: int
) -> NDArray[np.int64]:
    """The class of each node from one-hot rows; -1 where there is no row, or an empty one."""
    labels = np.full(num_nodes, -1, dtype=np.int64)
    for nodes, one_hot in ((np.arange(len(ally)), ally), (test, ty)):
        labels[nodes] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    return labels


def graph_from_neighbours(neighbours: dict[int, list[int]], num_nodes: int) -> Graph:
    """The simple graph of the neighbour lists: repeated entries and self-loops count once or not.

    The lists name PubMed's edges 25 times too often, so weights are set to 1, not added up.
    """
    count = [len(others) for others in neighbours.values()]
    tail = np.repeat(np.fromiter(neighbours, dtype=np.int64), count)
    head = np.concatenate([np.asarray(others, dtype=np.int64) for others in neighbours.values()])
    return simple_graph(tail, head, num_nodes)


def simple_graph(tail: NDArray[np.int64], head: NDArray[np.int64], num_nodes: int) -> Graph:
    """The undirected graph with an edge of weight 1 wherever either direction is listed."""
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    pairs = np.unique(np.stack([low, high])[:, low != high], axis=1)
    return Graph.from_edge_index(torch.from_numpy(pairs), num_nodes, undirected=True)


def public_split(num_train: int, test: NDArray[np.int64]) -> Split:
    """Planetoid's own split: the first nodes for training, the next 500, and the test list."""
    train = torch.arange(num_train)
    val = torch.arange(num_train, num_train + 500)
    return Split(train, val, torch.from_numpy(np.sort(test)))
