"""The route of wide rows: one run, any norm; with the gradient of x for the l21 norm.

Each projection saves its active rows for the gradient, those that it moved, and no states. The
rows of short float32 signals take operator/packed.py instead.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.degree_order import OrderedGraph, order_hubs
from elasticgnn.graph.edge_tiles import EdgeTiles
from elasticgnn.graph.once import once_if_fixed
from elasticgnn.kernels import native
from elasticgnn.operator import general
from elasticgnn.operator.autograd import propagate_saving
from elasticgnn.operator.checkpoints import lean_rows
from elasticgnn.operator.kernel_call import address, fading_line, form_number, in_memory, kernel
from elasticgnn.operator.request import Request, refusal_of_direct_call
from elasticgnn.operator.saved_rows import MemoryLimitError, SavedRows, none_saved

loops: Any = native  # not None where this module's functions are called


def refusal(request: Request) -> str | None:
    """Why the loops do not serve the request."""
    reason = refusal_of_direct_call(request)
    if reason is not None:
        return reason
    if not request.is_one_run or not request.graph.num_edges:
        return "it serves one run on a graph with edges"
    if request.gradients == "x" and request.form != "ball":
        return "its gradient is that of the l21 norm"
    return None if request.has_dual else "no run has a dual"


def run(request: Request) -> Tensor:
    """x after the steps; differentiable in x.

    With memory="lean" active rows are saved as long as they weigh less than checkpoints and
    replays would; beyond that the general loops start again, with those.
    """
    if request.gradients == "none":
        rows = in_memory(request.x.detach())
        out = torch.empty_like(rows)
        _route(request).run(rows, out, (0, 0), none_saved)
        return out
    if request.memory == "fast":
        return propagate_active(request)
    x, steps = request.x, request.steps
    rows_that_pay = lean_rows(steps, request.graph.num_edges / len(x))
    try:
        return propagate_active(request, int(rows_that_pay * x.numel() * x.element_size()))
    except MemoryLimitError:
        return general.run(request)


def propagate_active(request: Request, limit: int | None = None) -> Tensor:
    """x after the steps, of which only active rows are saved, at most `limit` bytes."""
    route, edge_penalty = _route(request, limit), request.edge_penalty
    return propagate_saving(request.x, request.graph, request.sizes, route, edge_penalty)


def _route(request: Request, limit: int | None = None) -> "_Wide":
    x, ordered = request.x, _order(request)
    graph = request.graph if ordered is None else ordered.graph
    slots, tiles = graph._slots, graph._edge_tiles()
    weight, scale = (in_memory(table.detach()) for table in graph._cast(x.dtype))
    tables = (slots.start, slots.column, slots.edge, weight, scale)
    sizes = tuple(size.detach() for size in request.sizes)
    line = fading_line(request.edge_penalty, sizes[2])
    settings = tuple(in_memory(size) for size in (*sizes, *line))
    shape = (len(x), graph.num_edges, 1, x.shape[-1])
    options = (form_number(request.edge_penalty), request.steps)
    places = (*tiles[:4], *_weights(graph, x.dtype))
    return _Wide(shape, tables, settings, options, tiles, places, ordered, limit)


def _order(request: Request) -> OrderedGraph | None:
    """The graph with its hubs last, if it has any and the rows of its nodes fill a core's cache."""
    x = request.x
    is_large = 2 * x.numel() * x.element_size() > loops.tuning.cache_bytes
    return order_hubs(request.graph) if is_large else None


@once_if_fixed
def _weights(graph: Graph, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """The weights of slots (2m), their sums (n), and those of edges (m) as the tiles have them.

    All are empty where every weight is 1, which the loops then do not read.
    """
    if graph.is_unweighted:
        return (torch.empty(0),) * 3
    weight = in_memory(graph._cast(dtype)[0].detach())
    n, m, slots = graph.num_nodes, graph.num_edges, graph._slots
    made = tuple(torch.empty(size, dtype=dtype) for size in (2 * m, n, m))
    given = (slots.start, slots.edge, graph._edge_tiles().edge, weight)
    kernel("wide_weights", dtype)((n, m), addresses(given), addresses(made))
    return made[0], made[1], made[2]


class _Wide(NamedTuple):
    """The arguments that both directions share."""

    shape: tuple[int, ...]
    tables: tuple[Tensor, ...]
    sizes: tuple[Tensor, ...]
    options: tuple[int, int]  # form of the projection, steps
    tiles: EdgeTiles
    places: tuple[Tensor, ...]  # the tables of the tiles, and the weights in their order
    ordered: OrderedGraph | None  # whose nodes the tables have; None: the given graph's
    limit: int | None

    @property
    def steps(self) -> int:
        return self.options[1]

    def arguments(self) -> tuple[Any, ...]:
        options = (*self.options, torch.get_num_threads())
        return self.shape, addresses(self.tables), addresses(self.sizes), options

    def tile_tables(self) -> tuple[int, tuple[int, ...]]:
        return len(self.tiles.first_tile) - 1, addresses(self.places)

    def run(self, x: Tensor, out: Tensor, saved: tuple[int, int], more: Any) -> None:
        self._call("wide_forward", x, out, saved, more)

    def _call(self, name: str, given: Tensor, result: Tensor, *rest: Any) -> None:
        """One direction, with rows in the order of the tables."""
        rows, moved = given, result
        if self.ordered is not None:
            rows, moved = self.ordered.rows(given), torch.empty_like(result)
        places = (rows.data_ptr(), moved.data_ptr())
        kernel(name, given.dtype)(*self.arguments(), *places, self.tile_tables(), *rest)
        if self.ordered is not None:
            self.ordered.hand_back(moved, result)

    def forward(self, x: Tensor, out: Tensor) -> SavedRows:
        # where the active rows of each chunk begin, and which edges are active
        chunks = self.tiles.num_chunks(loops.wide_chunk_edges)
        saved = SavedRows(self.steps * chunks, self.steps * self.shape[1], self.limit)
        self.run(x, out, saved.addresses, saved.more)
        return saved

    def backward(self, grad: Tensor, grad_x: Tensor, saved: SavedRows) -> None:
        self._call("wide_backward", grad, grad_x, saved.addresses)


def addresses(tensors: tuple[Tensor, ...]) -> tuple[int, ...]:
    """Where the tensors lie in memory."""
    return tuple(address(tensor) for tensor in tensors)
