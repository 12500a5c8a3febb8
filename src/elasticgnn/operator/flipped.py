"""Elastic message passing, and a GCN, on many graphs that differ by flipped pairs: no gradient."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.keys import pairs_of
from elasticgnn.kernels import native
from elasticgnn.operator.kernel_call import address, form_number
from elasticgnn.problem import ElasticPenalty
from elasticgnn.problem.step_sizes import step_sizes

ROW = 8  # floats: rows are filled up to a multiple of this
WIDEST = 16  # classes
loops: Any = native  # not None where these functions are called


@dataclass(frozen=True, eq=False)
class FlipLists:
    """Lists of pairs to flip, one graph each: list p is pairs[first[p] : first[p + 1]].

    pairs (t, 2) int32 with tail < head, distinct within a list; first (lists + 1,) int64.
    """

    pairs: Tensor
    first: Tensor

    @classmethod
    def from_keys(cls, keys: Tensor, num_nodes: int) -> "FlipLists":
        """Rows of `keys` (lists, flips), tail * num_nodes + head each, as lists of equal length."""
        pairs = torch.stack(pairs_of(keys, num_nodes), dim=-1).view(-1, 2).int()
        return cls(pairs, torch.arange(len(keys) + 1) * keys.shape[1])

    def __len__(self) -> int:
        return len(self.first) - 1

    def __getitem__(self, number: int) -> Tensor:
        """The pairs (k, 2) of one list."""
        return self.pairs[int(self.first[number]) : int(self.first[number + 1])].long()


@dataclass(frozen=True, eq=False)
class FlippedOutput:
    """Predictions on each graph: label (lists, n) uint8, rows (lists, n, d) if asked for."""

    label: Tensor
    rows: Tensor | None


class FlipTables:
    """A graph of unit weights as the loops read it, prepared once for many lists of flips."""

    def __init__(self, graph: Graph) -> None:
        if not graph.is_unweighted or graph.normalization != "degree":
            raise ValueError("graph must have unit weights and degree normalization to be flipped")
        self.graph = graph
        self.tail, self.head = graph._tail.int().contiguous(), graph._head.int().contiguous()
        count = torch.bincount(graph._tail, minlength=graph.num_nodes)
        self.first_edge = torch.cat((count.new_zeros(1), count.cumsum(0)))

    def arguments(self, flips: FlipLists) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes and addresses for the loops."""
        check_flips(flips, self.graph.num_nodes)
        most = int(flips.first.diff().max()) if len(flips) else 0
        sizes = (self.graph.num_nodes, self.graph.num_edges, len(flips), most)
        tables = (self.tail, self.head, self.first_edge, flips.first, flips.pairs)
        return (*sizes, torch.get_num_threads()), tuple(address(table) for table in tables)


def check_flips(flips: FlipLists, num_nodes: int) -> None:
    """Refuses what the loops would read past their tables for."""
    low, high = flips.pairs[:, 0], flips.pairs[:, 1]
    if len(low) and not bool(((low >= 0) & (low < high) & (high < num_nodes)).all()):
        raise ValueError(f"pairs must be (tail, head) with 0 <= tail < head < {num_nodes}")
    contiguous = flips.pairs.is_contiguous() and flips.first.is_contiguous()
    if flips.pairs.dtype != torch.int32 or flips.first.dtype != torch.int64 or not contiguous:
        raise ValueError("pairs must be contiguous int32 and first contiguous int64")


def elastic_on_flipped(
    x: Tensor,
    tables: FlipTables,
    penalty: ElasticPenalty,
    steps: int,
    flips: FlipLists,
    *,
    rows: bool = False,
) -> FlippedOutput:
    """`elastic_message_passing` of x (n, d), d <= 16, on every flipped graph."""
    padded = pad_columns(x)
    (numbers,) = step_sizes(penalty, 2.0, padded).numbers
    edge_penalty = penalty.edge_penalty
    options = (padded.shape[1], form_number(edge_penalty), steps)
    output, result = empty_output(len(flips), len(x), x.shape[1], rows)
    sizes, arrays = tables.arguments(flips)
    start, slope, *_ = edge_penalty.line(numbers[2])
    loops.flipped_elastic(
        sizes, arrays, padded.data_ptr(), options, (*numbers, start, slope), result
    )
    return output


@dataclass(frozen=True, eq=False)
class TwoLayers:
    """relu(S x + bias1), then S (. weight2) + bias2 with S = D^-1/2 (A + I) D^-1/2."""

    x: Tensor  # (n, h): features times the first weights
    bias1: Tensor
    weight2: Tensor  # (h, d)
    bias2: Tensor


def convolutions_on_flipped(
    layers: TwoLayers, tables: FlipTables, flips: FlipLists, *, rows: bool = False
) -> FlippedOutput:
    """The logits of a two-layer GCN, d <= 16, on every flipped graph."""
    width = layers.weight2.shape[1]
    x, bias1 = pad_columns(layers.x), pad_columns(layers.bias1[None])
    weight2 = pad_columns(layers.weight2)
    missing = weight2.new_zeros(x.shape[1] - len(weight2), weight2.shape[1])
    weight2, bias2 = torch.cat((weight2, missing)), pad_columns(layers.bias2[None])
    arrays = tuple(part.data_ptr() for part in (x, bias1, weight2, bias2))
    shape = (x.shape[1], weight2.shape[1])
    output, result = empty_output(len(flips), len(x), width, rows)
    loops.flipped_convolutions(*tables.arguments(flips), arrays, shape, result)
    return output


def pad_columns(x: Tensor) -> Tensor:
    """x (n, d) as float32 with zero columns up to a multiple of ROW."""
    width = -(-max(x.shape[1], 1) // ROW) * ROW
    padded = torch.zeros(len(x), width)
    padded[:, : x.shape[1]] = x.detach()
    return padded


def empty_output(
    lists: int, nodes: int, width: int, rows: bool
) -> tuple[FlippedOutput, tuple[int, int, int]]:
    """Where the loops write, and the addresses of it."""
    if width > WIDEST:
        raise ValueError(f"x must have at most {WIDEST} columns, got {width}")
    label = torch.empty(lists, nodes, dtype=torch.uint8)
    values = torch.empty(lists, nodes, width) if rows else None
    return FlippedOutput(label, values), (width, address(values), address(label))
