"""What the kernels read of a graph, and the shape of their tiles."""

from collections.abc import MutableMapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

HUB_DEGREE = 32  # nodes with more neighbours get a program of their own
TILE_ELEMENTS = 512  # numbers a program works on at once: four per thread of four warps
WARPS = 4
WIDEST = 1024  # channels: a row must fit into one tile


class Tables(NamedTuple):
    """Slots with nodes by falling degree, and the ends of edges; made without a synchronisation."""

    order: Tensor  # (n,) int32
    start: Tensor  # (n + 1,) int64
    column: Tensor  # (2m,) int32
    edge: Tensor  # (2m,) int32
    hubs: Tensor  # (1,) int32: how many nodes have more than HUB_DEGREE neighbours
    tail: Tensor  # (m,) int32
    head: Tensor  # (m,) int32

    @property
    def slots(self) -> tuple[Tensor, ...]:
        """What every kernel over nodes reads, in the order of its arguments."""
        return self[:5]

    @property
    def most_hubs(self) -> int:
        """A bound on the number of hubs that needs no look at the device."""
        return min(len(self.order), len(self.column) // (HUB_DEGREE + 1))


class Tile(NamedTuple):
    """Nodes and slots of one program; all powers of two, as Triton wants them."""

    nodes: int
    slots: int
    hub_slots: int
    width: int
    edges: int

    def meta(self) -> dict[str, int]:
        """The tile as the constants of a kernel."""
        return {"N": self.nodes, "S": self.slots, "HUB_S": self.hub_slots, "D": self.width}


def tile_for(width: int, elements: int = TILE_ELEMENTS) -> Tile:
    """Tiles for rows of `width` channels: nodes of low degree share a program."""
    padded = 1 << (width - 1).bit_length()
    rows = max(1, 1 << (elements // padded).bit_length() >> 1)
    slots = min(8, rows)
    return Tile(rows // slots, slots, rows, padded, rows)


# By the identity of the slots' `start`, which a Graph owns and never changes.
_made: MutableMapping[Tensor, Tables] = WeakTensorKeyDictionary()


def tables_of(start: Tensor, column: Tensor, edge: Tensor) -> Tables:
    """The tables of a graph's slots, remembered as long as these live."""
    known = _made.get(start)
    if known is None:
        known = _made[start] = _make(start, column, edge)
    return known


def _make(start: Tensor, column: Tensor, edge: Tensor) -> Tables:
    degree = start.diff()
    order = torch.argsort(degree, descending=True, stable=True).int()
    hubs = (degree > HUB_DEGREE).sum(dtype=torch.int32)[None]
    nodes = torch.arange(len(degree), dtype=torch.int32, device=start.device)
    row = torch.repeat_interleave(nodes, degree, output_size=len(column))
    # both slots of an edge write the same number
    tail = torch.empty_like(column[::2]).scatter_(0, edge.long(), torch.minimum(row, column))
    head = torch.empty_like(tail).scatter_(0, edge.long(), torch.maximum(row, column))
    return Tables(order, start, column, edge, hubs, tail, head)
