"""Elastic message passing in plain torch: the definition that every other path is compared with."""

from typing import NamedTuple

from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.step_sizes import StepSizes


class Incidence(NamedTuple):
    """The edges as the iteration reads them: both ends (m,), weights (m,), scales (n,)."""

    tail: Tensor
    head: Tensor
    weight: Tensor
    scale: Tensor

    def difference(self, signal: Tensor) -> Tensor:
        """delta_e = U_tail - U_head with U = scale * signal: (n, R, d) to (m, R, d)."""
        scaled = self.scale[:, None, None] * signal
        return scaled.index_select(0, self.tail) - scaled.index_select(0, self.head)

    def divergence(self, dual: Tensor) -> Tensor:
        """s_i * sum over i's edges of ±w_e dual_e: (m, R, d) to (n, R, d)."""
        flow = self.weight[:, None, None] * dual
        total = dual.new_zeros(self.scale.shape[0], *dual.shape[1:])
        total = total.index_add(0, self.tail, flow).index_add(0, self.head, flow, alpha=-1)
        return self.scale[:, None, None] * total


def propagate(
    x: Tensor,
    graph: Graph,
    sizes: StepSizes,
    edge_penalty: EdgePenalty,
    steps: int,
    edge_strength: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Signal F (n, R, d) and dual Z (m, R, d) after `steps` steps of the paper's Figure 1."""
    incidence = Incidence(graph._tail, graph._head, *graph._cast(x.dtype))
    return iterate(x, incidence, sizes, edge_penalty, steps, edge_strength)


def iterate(
    x: Tensor,
    incidence: Incidence,
    sizes: tuple[Tensor, ...],
    edge_penalty: EdgePenalty,
    steps: int,
    edge_strength: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The same from bare tensors; sizes are lambda1, gamma, beta, smoothing (R,).

    `edge_strength` (m,) multiplies lambda1 of each edge; lambda1 may itself be (m, R).
    With gamma = 1/(1 + lambda2) and L = I - A the first line is gamma X + (1 - gamma) A F.
    """
    lambda1, gamma, beta, smoothing = (size[..., None] for size in sizes)
    if edge_strength is not None:
        lambda1 = lambda1 * edge_strength.to(x.dtype)[:, None, None]
    signal = x
    dual = x.new_zeros(incidence.tail.shape[0], *x.shape[1:])
    for _ in range(steps):
        laplacian = incidence.divergence(incidence.difference(signal))
        y = gamma * x + (1 - gamma) * signal - smoothing * laplacian
        predicted = y - gamma * incidence.divergence(dual)
        ascended = dual + beta * incidence.difference(predicted)
        dual = edge_penalty.project(ascended, lambda1, beta)
        signal = y - gamma * incidence.divergence(dual)
    return signal, dual
