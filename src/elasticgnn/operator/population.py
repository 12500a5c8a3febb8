"""The route of many runs without a gradient: short float32 rows, the runs in the lanes."""

from typing import Any

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.once import once_if_fixed
from elasticgnn.kernels import native
from elasticgnn.operator.kernel_call import problem
from elasticgnn.operator.workspace import workspace
from elasticgnn.problem.step_sizes import StepSizes

LEAST_USE = 0.6  # of the lanes: with fewer runs than that, one after the other is faster
loops: Any = native  # not None where this module's functions are called


def fits(x: Tensor, graph: Graph, norm: str, steps: int) -> bool:
    """Whether the route serves x (n, R, d) or (n, d)."""
    if x.ndim != 3 or x.dtype != torch.float32 or norm not in ("l21", "l1") or steps == 0:
        return False
    lanes, runs = loops.population_lanes, x.shape[1]
    in_use = runs / (-(-runs // lanes) * lanes) if runs else 0
    has_work = len(x) > 0 and graph.num_edges > 0
    return has_work and in_use >= LEAST_USE and 1 <= x.shape[2] <= loops.population_width


def propagate_population(
    x: Tensor, graph: Graph, sizes: StepSizes, norm: str, steps: int, *, has_dual: bool
) -> Tensor:
    """x (n, R, d) after the steps; without `has_dual` the dual stays 0 in every run."""
    order, tables = _tables(graph)
    rows = x.detach().contiguous()
    task = problem(rows, x, tables, sizes, (norm, 0.0, steps))
    out = torch.empty_like(rows)
    loops.emp_population(*task.arguments, (out.data_ptr(), order.data_ptr()), has_dual, workspace)
    return out


@once_if_fixed
def _tables(graph: Graph) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The nodes in the loops' order, and what they read of the graph in that order."""
    weight, scale = graph.cast(torch.float32)
    order, edge_order, slots = graph.slots.clustered
    weight = weight if graph.is_unweighted else weight[edge_order]
    return order, (slots.start, slots.column, slots.edge, weight, scale[order])
