"""The route of node rows that are larger than the caches, without a gradient: edges in tiles."""

from typing import Any

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.tiling import Tiles
from elasticgnn.kernels import native
from elasticgnn.operator.kernel_call import problem
from elasticgnn.operator.shapes import with_runs
from elasticgnn.operator.workspace import workspace
from elasticgnn.problem.step_sizes import StepSizes

LEAST = 1 << 23  # bytes of node rows from which on tiles pay
BLOCKS = 4  # of nodes; more would meet too seldom
MOST_THREADS = BLOCKS // 2  # as many tiles can be worked on at a time
loops: Any = native  # not None where this module's functions are called


def tiles_for(x: Tensor, graph: Graph, norm: str, steps: int) -> Tiles | None:
    """The tiles for x (n, d) or (n, R, d) where the route serves it, else None."""
    fits = (
        norm == "l21"
        and steps > 0
        and x.dtype == torch.float32
        and x.numel() == len(x) * x.shape[-1]
        and x.shape[-1] <= loops.tiled_width
        and x.nbytes >= LEAST
        and torch.get_num_threads() <= MOST_THREADS
    )
    return graph.tiles(BLOCKS) if fits else None


def propagate_tiled(x: Tensor, graph: Graph, sizes: StepSizes, steps: int, tiles: Tiles) -> Tensor:
    """x after the steps, the norm is l21; lambda1 and gamma are not 0."""
    slots = graph.slots
    rows = x.detach().contiguous()
    tables = (slots.start, slots.column, slots.edge, *graph.cast(x.dtype))
    task = problem(rows, with_runs(x), tables, sizes, ("l21", 0.0, steps))
    out = torch.empty_like(rows)
    loops.emp_tiled(
        *task.arguments,
        out.data_ptr(),
        len(tiles.first_node) - 1,
        tuple(table.data_ptr() for table in tiles),
        workspace,
    )
    return out
