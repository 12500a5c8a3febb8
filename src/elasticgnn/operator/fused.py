"""The compiled loops as such: whether they are there, and steps from a given state."""

from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.kernels import native, warn_once_if_missing
from elasticgnn.operator import fused_loops
from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.step_sizes import StepSizes


def is_available() -> bool:
    """Whether the compiled loops were built and can be used; warns once if not."""
    if native is None:
        warn_once_if_missing()
    return native is not None


def propagate_state(
    x: Tensor, graph: Graph, sizes: StepSizes, edge_penalty: EdgePenalty, steps: int
) -> tuple[Tensor, Tensor]:
    """Signal (n, R, d) and dual (m, R, d) after `steps` steps, no gradient."""
    return continue_state(x, graph, sizes, edge_penalty, steps, None, None)


def continue_state(
    x: Tensor,
    graph: Graph,
    sizes: StepSizes,
    edge_penalty: EdgePenalty,
    steps: int,
    signal: Tensor | None,
    dual: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Like `propagate_state`, from a given signal (n, R, d) and dual (m, R, d): a warm start."""
    weight, scale = graph._cast(x.dtype)
    slots = graph._slots
    tables = (slots.start, slots.column, slots.edge, weight.detach(), scale.detach())
    plain_sizes = tuple(size.detach() for size in sizes)
    return fused_loops.run_state(
        x.detach(), tables, plain_sizes, (edge_penalty, steps), signal, dual
    )
