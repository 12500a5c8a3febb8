"""The fused operator: compiled loops behind torch.library, with exact gradients."""

from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.step_sizes import StepSizes


def is_available() -> bool:
    """Whether the compiled loops were built and can be used."""
    return False


def require() -> None:
    """Raise unless the compiled loops are there."""
    raise ValueError("implementation must be 'reference' or 'auto': no compiled loops here")


def propagate(
    x: Tensor,
    graph: Graph,
    sizes: StepSizes,
    norm: str,
    concavity: float,
    steps: int,
    memory: str,
) -> Tensor:
    """Signal (n, R, d) after `steps` steps; differentiable in x, weights and step sizes."""
    raise NotImplementedError


def propagate_state(
    x: Tensor, graph: Graph, sizes: StepSizes, norm: str, concavity: float, steps: int
) -> tuple[Tensor, Tensor]:
    """Signal (n, R, d) and dual (m, R, d) after `steps` steps, no gradient."""
    raise NotImplementedError
