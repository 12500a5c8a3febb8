"""The route of many runs without a gradient: short float32 rows, the runs in the lanes."""

from typing import Any

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.once import once_if_fixed
from elasticgnn.kernels import native, tuning
from elasticgnn.operator.kernel_call import in_memory, problem
from elasticgnn.operator.request import Request, refusal_of_direct_call

loops: Any = native  # not None where this module's functions are called


def refusal(request: Request) -> str | None:
    """Why the loops do not serve the request."""
    if request.gradients != "none":
        return "a gradient is wanted"
    x = request.x
    if x.ndim == 2 and request.parts is None:
        return "it serves runs (n, R, d)"  # first: most calls have one run
    reason = refusal_of_direct_call(request)
    if reason is not None:
        return reason
    if x.ndim != 3 or x.dtype != torch.float32 or request.form not in ("ball", "box"):
        return "it serves float32 runs (n, R, d) with the l21 or l1 norm"
    if request.graph.num_edges == 0:
        return "the graph has no edges"
    if not 1 <= x.shape[2] <= loops.population_width:
        return f"it serves rows of 1 to {loops.population_width}, got {x.shape[2]}"
    runs, lanes = x.shape[1], loops.population_lanes
    if runs / (-(-runs // lanes) * lanes) < tuning.LEAST_LANES:
        return f"{runs} runs would leave most of {lanes} lanes empty"
    return None


def run(request: Request) -> Tensor:
    """x (n, R, d) after the steps; without a dual it stays 0 in every run."""
    x = request.x
    order, tables = _tables(request.graph)
    rows = in_memory(x.detach())
    task = problem(rows, x, tables, request.sizes, (request.edge_penalty, request.steps))
    out = torch.empty_like(rows)
    loops.emp_population(*task.arguments, (out.data_ptr(), order.data_ptr()), request.has_dual)
    return out


@once_if_fixed
def _tables(graph: Graph) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The nodes in the loops' order, and what they read of the graph in that order."""
    weight, scale = graph._cast(torch.float32)
    order, edge_order, slots = graph._slots.clustered
    weight = weight if graph.is_unweighted else weight[edge_order]
    return order, (slots.start, slots.column, slots.edge, weight, scale[order])
