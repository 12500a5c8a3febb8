"""The packed route of the fused operator: short float32 rows, l21 or l1, gradients of x alone."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.packing import ROW_FLOATS
from elasticgnn.kernels import native
from elasticgnn.operator.kept import Kept, propagate_kept
from elasticgnn.operator.workspace import fresh, workspace
from elasticgnn.problem.step_sizes import StepSizes

MOST_FLOATS = 1 << 31  # of padded node rows: the tables hold where each begins
loops: Any = native  # not None where this module's functions are called


def packed_lanes(x: Tensor, graph: Graph, norm: str, steps: int) -> int:
    """Lanes of a register that a row of x takes, or 0: the loops do not fit this problem."""
    fits = x.dtype == torch.float32 and norm in ("l21", "l1") and steps > 0 and x.numel() > 0
    lanes = int(loops.packed_lanes(x.shape[-1])) if fits and graph.num_edges else 0
    return lanes if lanes and x.shape[0] * ROW_FLOATS[16 // lanes] < MOST_FLOATS else 0


def propagate_packed(
    x: Tensor, graph: Graph, sizes: StepSizes, norm: str, steps: int, lanes: int, *, keep: bool
) -> Tensor:
    """x (n, d) or (n, R, d) after `steps` steps; differentiable in x if `keep`."""
    slots = graph.slots.packed(16 // lanes)
    weight, scale = graph.cast(x.dtype)
    owners = (*slots, weight, scale)
    addresses = [table.data_ptr() for table in owners]
    if graph.is_unweighted:
        addresses[7] = 0
    nodes = x.shape[0]
    shape = (nodes, slots.owner.shape[0], slots.chunk.shape[0] - 1, x.shape[-1], x.numel() // nodes)
    settings = list(zip(*[size.tolist() for size in sizes], strict=True))
    route = _Packed(shape, addresses, settings, steps, norm, owners)
    if keep:
        return propagate_kept(x, route)
    rows = x.detach().contiguous()
    out = torch.empty_like(rows)
    for run in range(len(settings)):
        loops.packed_forward(*route.arguments(run, rows, out), (0, 0), workspace, fresh)
    return out


class _Packed(NamedTuple):
    """The arguments that both directions share; `owners` keeps the memory alive."""

    sizes: tuple[int, ...]  # of the graph, and of a row
    tables: list[int]
    settings: list[tuple[float, ...]]  # lambda1, gamma, beta, pull of each run
    steps: int
    norm: str
    owners: tuple[Tensor, ...]

    def arguments(self, run: int, given: Tensor, result: Tensor) -> tuple[Any, ...]:
        """Those of one run, whose rows lie in tensors (n, d) or (n, R, d)."""
        options = (self.steps, torch.get_num_threads(), self.norm == "l1")
        offset = 4 * run * given.shape[-1]
        rows = (given.data_ptr() + offset, result.data_ptr() + offset)
        return self.sizes, self.tables, self.settings[run], options, rows

    def forward(self, x: Tensor, out: Tensor) -> list[Kept]:
        _, groups, chunks, *_ = self.sizes
        each = 4 if self.norm == "l1" else 1  # masks of four registers
        all_runs = []
        for run in range(len(self.settings)):
            kept = Kept(
                torch.empty(self.steps, chunks, dtype=torch.int64),  # where rows begin
                torch.empty(self.steps, (groups // 4 + chunks) * each, dtype=torch.int16),  # masks
            )
            arguments = self.arguments(run, x, out)
            loops.packed_forward(*arguments, kept.addresses, workspace, kept.more)
            all_runs.append(kept)
        return all_runs

    def backward(self, grad: Tensor, grad_x: Tensor, kept: list[Kept]) -> None:
        for run, one in enumerate(kept):
            loops.packed_backward(*self.arguments(run, grad, grad_x), one.addresses, workspace)
