"""Elastic message passing in plain torch: the definition that every other path is compared with."""

from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.projection import apply_projection
from elasticgnn.problem.step_sizes import StepSizes


def propagate(
    x: Tensor, graph: Graph, sizes: StepSizes, norm: str, concavity: float | None, steps: int
) -> tuple[Tensor, Tensor]:
    """Signal F (n, R, d) and dual Z (m, R, d) after `steps` steps of the paper's Figure 1.

    With gamma = 1/(1 + lambda2) and L = I - A the first line is gamma X + (1 - gamma) A F.
    """
    lambda1, gamma, beta, pull = (size[:, None] for size in sizes)
    signal = x
    dual = x.new_zeros(graph.num_edges, *x.shape[1:])
    for _ in range(steps):
        laplacian = graph.divergence(graph.difference(signal))
        y = gamma * x + (1 - gamma) * signal - pull * laplacian
        predicted = y - gamma * graph.divergence(dual)
        ascended = dual + beta * graph.difference(predicted)
        dual = apply_projection(ascended, lambda1, beta, norm, concavity)
        signal = y - gamma * graph.divergence(dual)
    return signal, dual
