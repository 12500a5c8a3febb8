"""The difference operator of a graph along its edges, and its adjoint."""

from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from elasticgnn.graph.graph import Graph


def difference(graph: "Graph", signal: Tensor) -> Tensor:
    """delta_e = U_tail - U_head with U = scale * signal: (n, ...) to (m, ...)."""
    scaled = _rows(graph._cast(signal.dtype)[1], signal) * signal
    return scaled[graph._tail] - scaled[graph._head]


def divergence(graph: "Graph", dual: Tensor) -> Tensor:
    """s_i * sum over i's edges of ±w_e dual_e: (m, ...) to (n, ...)."""
    weight, scale = graph._cast(dual.dtype)
    flow = _rows(weight, dual) * dual
    total = dual.new_zeros(graph.num_nodes, *dual.shape[1:])
    total = total.index_add(0, graph._tail, flow).index_add(0, graph._head, -flow)
    return _rows(scale, total) * total


def _rows(per_row: Tensor, like: Tensor) -> Tensor:
    """`per_row` (k,) shaped to multiply the rows of `like` (k, ...)."""
    return per_row.view(-1, *[1] * (like.ndim - 1))
