"""What two convolutions see from some nodes: the rows of their neighbours' neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.nn.adjacency import GraphMatrix
from elasticgnn.nn.attention import AttentionPattern

Layer = GraphMatrix | AttentionPattern


@dataclass(frozen=True)
class Field:
    """Nodes in an order of which every beginning is a layer's: T, its neighbours, and theirs.

    `sizes`: of T, of T with its neighbours, of all.

    >>> Field.around(Graph.from_edges([[0, 1], [1, 2], [2, 3]]), torch.tensor([0])).order.tolist()
    [0, 1, 2]
    """

    order: Tensor
    sizes: tuple[int, int, int]

    @classmethod
    def around(cls, graph: Graph, nodes: Tensor) -> Field:
        """The field of `nodes`, which come first and in their own order."""
        matrix, order = graph.to_scipy(), nodes.numpy()
        sizes = [len(order)]
        for _ in range(2):
            order = np.concatenate([order, new_neighbours(matrix, order)])
            sizes.append(len(order))
        return cls(torch.from_numpy(order), (sizes[0], sizes[1], sizes[2]))


def new_neighbours(matrix: sparse.csr_array, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The neighbours of `nodes` that are none of them, ascending."""
    seen = np.zeros(matrix.shape[0], dtype=bool)
    seen[matrix[nodes].indices] = True
    seen[nodes] = False
    return np.flatnonzero(seen)


@dataclass(frozen=True, eq=False)
class FieldGraph:
    """A graph as two layers use it in a field: each has the rows that the next one asks for.

    `slots`: of attention, the number of each slot in the whole pattern, layer by layer.
    """

    first: Layer
    second: Layer
    sizes: tuple[int, int, int]
    slots: tuple[Tensor, ...] = ()


@singledispatch
def restrict(prepared: Layer, field: Field) -> FieldGraph:
    """What a model's `prepare` gave, in the field."""
    raise TypeError(f"prepared must be a matrix or a pattern of attention, got {type(prepared)}")


@restrict.register
def _(prepared: GraphMatrix, field: Field) -> FieldGraph:
    target, near, far = field.sizes
    whole, order = prepared.matrix.to_scipy(), field.order.numpy()
    rows = [whole[order[:near]][:, order[:far]], whole[order[:target]][:, order[:near]]]
    first, second = (GraphMatrix(SparseFeatures.from_scipy(part)) for part in rows)
    return FieldGraph(first, second, field.sizes)


@restrict.register
def _(prepared: AttentionPattern, field: Field) -> FieldGraph:
    target, near, far = field.sizes
    first, first_slots = attention_among(prepared, field.order[:far], near)
    second, second_slots = attention_among(prepared, field.order[:near], target)
    return FieldGraph(first, second, field.sizes, (first_slots, second_slots))


def attention_among(
    pattern: AttentionPattern, nodes: Tensor, right: int
) -> tuple[AttentionPattern, Tensor]:
    """Attention between `nodes`, complete for the first `right` of them; and its slots' numbers.

    It stays symmetric: the others look back at the first ones, and at themselves.
    """
    count = len(pattern.start) - 1
    number = np.arange(1, len(pattern.column) + 1)  # 0 would be no entry
    parts = (number, pattern.column.numpy(), pattern.start.numpy())
    order = nodes.numpy()
    some = sparse.coo_array(sparse.csr_array(parts, shape=(count, count))[order][:, order])
    row, column = some.coords
    wanted = (row < right) | (column < right) | (row == column)
    chosen = (some.data[wanted], (row[wanted], column[wanted]))
    tidy = sparse.csr_array(sparse.coo_array(chosen, shape=some.shape))
    tidy.sort_indices()
    start, column = tidy.indptr.astype(np.int64), tidy.indices.astype(np.int32)
    part = AttentionPattern(torch.from_numpy(start), torch.from_numpy(column))
    return part, torch.from_numpy(tidy.data - 1)
