"""The packed route of the fused operator: short float32 rows, l21 or l1, gradients of x alone."""

from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.once import once_if_fixed
from elasticgnn.graph.packing import ROW_FLOATS
from elasticgnn.kernels import native, tuning
from elasticgnn.operator.autograd import propagate_saving
from elasticgnn.operator.kernel_call import in_memory
from elasticgnn.operator.request import Request, refusal_of_direct_call
from elasticgnn.operator.saved_rows import SavedRows, none_saved

MOST_FLOATS = 1 << 31  # of padded node rows: the tables hold where each begins
loops: Any = native  # not None where this module's functions are called


def packed_lanes(x: Tensor, graph: Graph, form: str | None, steps: int) -> int:
    """Lanes of a register that a row of x takes, or 0: the loops do not fit this problem."""
    fits = x.dtype == torch.float32 and form in ("ball", "box") and steps > 0 and x.numel() > 0
    lanes = _lanes(x.shape[-1]) if fits and graph.num_edges else 0
    return lanes if lanes and x.shape[0] * ROW_FLOATS[16 // lanes] < MOST_FLOATS else 0


@cache
def _lanes(width: int) -> int:
    return int(loops.packed_lanes(width))


def refusal(request: Request) -> str | None:
    """Why the loops do not serve the request."""
    reason = refusal_of_direct_call(request)
    if reason is not None:
        return reason
    if request.gradients == "x" and request.memory == "lean":
        return "with memory='lean' the rows saved for a gradient are too many"
    lanes = packed_lanes(request.x, request.graph, request.form, request.steps)
    if lanes == 0:
        return "it serves short float32 rows with the l21 or l1 norm, on a CPU with AVX-512"
    if lanes == 16 and _is_better_wide(request):
        return "rows of a whole register and many edges: the wide loops are faster"
    return None


def _is_better_wide(request: Request) -> bool:
    """Whether the wide loops serve it, whose dual has half the rows, one for both directions.

    A row of more than eight channels shares its register with none, so that nothing else is won
    here where nodes have many edges (benchmarks/bench_short_rows.py), or once the dual and the four
    rows of every node stream from memory (benchmarks/bench_wide.py, d = 16).
    """
    served = request.is_one_run and (request.gradients == "none" or request.form == "ball")
    graph = request.graph
    swept = (2 * graph.num_edges + 4 * graph.num_nodes) * 64  # bytes
    many = graph.num_edges >= tuning.WIDE_EDGES_PER_NODE * graph.num_nodes
    return served and request.has_dual and (many or swept > loops.tuning.shared_cache_bytes)


def run(request: Request) -> Tensor:
    """x (n, d) or (n, R, d) after the steps; differentiable in x if asked for."""
    x, graph, edge_penalty = request.x, request.graph, request.edge_penalty
    numbers = request.sizes.numbers
    lanes = _lanes(x.shape[-1])  # of a request that was not refused
    route = _Packed(_tables(graph, lanes), numbers, request.steps, request.form == "box")
    if request.gradients == "x":
        return propagate_saving(x, graph, request.sizes, route, edge_penalty)
    rows = in_memory(x)
    out = torch.empty_like(rows)
    for number in range(len(numbers)):
        loops.packed_forward(*route.arguments(number, rows, out), (0, 0), none_saved)
    return out


class _Tables(NamedTuple):
    """What the loops read of a graph; `owners` keeps the memory alive."""

    counts: tuple[int, int, int]  # nodes, registers, chunks
    addresses: list[int]
    owners: tuple[Tensor, ...]


@once_if_fixed
def _tables(graph: Graph, lanes: int) -> _Tables:
    slots = graph._slots.packed(16 // lanes)
    weight, scale = (in_memory(table) for table in graph._cast(torch.float32))
    owners = (*slots, weight, scale)
    addresses = [table.data_ptr() for table in owners]
    if graph.is_unweighted:
        addresses[7] = 0
    counts = (graph.num_nodes, slots.owner.shape[0], slots.chunk.shape[0] - 1)
    return _Tables(counts, addresses, owners)


class _Packed(NamedTuple):
    """The arguments that both directions share."""

    tables: _Tables
    settings: list[tuple[float, ...]]  # lambda1, gamma, beta, smoothing of each run
    steps: int
    is_box: bool  # the entries of a row are projected, not the row

    def arguments(self, run: int, given: Tensor, result: Tensor) -> tuple[Any, ...]:
        """Those of one run, whose rows lie in tensors (n, d) or (n, R, d)."""
        counts, addresses, _ = self.tables
        width = given.shape[-1]
        options = (self.steps, torch.get_num_threads(), self.is_box)
        rows = (given.data_ptr() + 4 * run * width, result.data_ptr() + 4 * run * width)
        shape = (*counts, width, len(self.settings) * width)
        return shape, addresses, self.settings[run], options, rows

    def forward(self, x: Tensor, out: Tensor) -> list[SavedRows]:
        _, registers, chunks = self.tables.counts
        # of each chunk where its rows begin, of each four registers one mask or four
        pointers = self.steps * chunks
        masks = self.steps * (registers // 4 + chunks) * (4 if self.is_box else 1)
        all_runs = []
        for run in range(len(self.settings)):
            saved = SavedRows(pointers, 2 * masks)
            arguments = self.arguments(run, x, out)
            loops.packed_forward(*arguments, saved.addresses, saved.more)
            all_runs.append(saved)
        return all_runs

    def backward(self, grad: Tensor, grad_x: Tensor, saved: list[SavedRows]) -> None:
        for run, one in enumerate(saved):
            loops.packed_backward(*self.arguments(run, grad, grad_x), one.addresses)
