"""The noise of a signal, estimated from its differences along edges."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.solver.losses import Loss
from elasticgnn.solver.problem.geometry import Array

FEW_EQUAL = 0.1  # share of equal neighbours from which on a signal counts as rounded
MOST_EQUAL = 0.9  # share of equal neighbours from which on a signal counts as free of noise
LEAST_INSIDE = 100  # differences that speak for all others
WIDENING = 1.5  # decades that each order of a trend adds to the useful strengths


@np.errstate(all="ignore")
def noise_level(x: Tensor, graph: Graph, data_weight: Tensor) -> float:
    """sigma from a quantile of the absolute differences along edges, most of which cross no jump.

    The median; where rounded data make more than a tenth of them 0, the share of those; 0 if more
    than nine in ten are; those between values that are not cut off at the end of their range (black
    and white pixels) if only the others are 0. Each channel has its own, and the mean square of
    all is taken.

    >>> from elasticgnn.solver import noise_level
    >>> noise_level(x, chain, torch.ones(4, 1, dtype=torch.float64)) > 0
    True
    """
    return root_mean_square(np.array([_sigma_of(*pair) for pair in _steps(x, graph, data_weight)]))


def rounding_steps(x: Tensor, graph: Graph, data_weight: Tensor) -> Tensor:
    """(d,): between which multiples the data of a channel were rounded; 0 where they were not."""
    steps = [_rounding(*pair) for pair in _steps(x, graph, data_weight)]
    return torch.tensor(steps, dtype=torch.float64)


def _steps(
    x: Tensor, graph: Graph, data_weight: Tensor
) -> Iterator[tuple[Array, NDArray[np.bool_]]]:
    """Per channel the absolute differences along edges, and which touch no end of the range."""
    rows = _rows(x.detach().double())
    seen = (_rows(data_weight) > 0).expand(rows.shape)
    for k in range(rows.shape[1]):
        both = seen[graph.tail, k] & seen[graph.head, k] & (graph.weight.detach() > 0)
        tail, head = rows[graph.tail[both], k], rows[graph.head[both], k]
        ends = rows[seen[:, k], k]
        inside = torch.ones_like(tail, dtype=torch.bool)
        if len(ends):  # black and white pixels: what lies beyond was cut off
            for end in (tail, head):
                inside &= (end > ends.min()) & (end < ends.max())
        yield (tail - head).abs().numpy(), inside.numpy()


def root_mean_square(values: Array) -> float:
    """Also where the squares leave the range of float64; 0 of nothing."""
    largest = float(np.abs(values).max(initial=0.0))
    if not 0 < largest < np.inf:
        return largest
    return largest * float(np.sqrt(np.mean((values / largest) ** 2)))


def _sigma_of(steps: Array, inside: NDArray[np.bool_]) -> float:
    """sigma of absolute differences of two values with independent normal noise.

    `inside`: neither is the least or the largest of all, where a range may have been cut off.
    """
    if not len(steps):
        return 0.0
    share = float((steps == 0).mean())
    if share < FEW_EQUAL:
        return _by_median(steps)
    if share > MOST_EQUAL:
        return 0.0
    if _is_cut_off(steps, inside):
        return _by_median(steps[inside])
    # rounded data: equal means closer than half of the smallest step
    return _rounding(steps, inside) / 2 / float(ndtri((1 + share) / 2) * 2**0.5)


def _rounding(steps: Array, inside: NDArray[np.bool_]) -> float:
    """The smallest step of rounded data, else 0."""
    share = float((steps == 0).mean()) if len(steps) else 0.0
    if not FEW_EQUAL <= share <= MOST_EQUAL or _is_cut_off(steps, inside):
        return 0.0
    return float(steps[steps > 0].min())


def _is_cut_off(steps: Array, inside: NDArray[np.bool_]) -> bool:
    """Whether only values at the ends of the range are equal."""
    return bool(inside.sum() >= LEAST_INSIDE and (steps[inside] == 0).mean() < FEW_EQUAL)


def _by_median(steps: Array) -> float:
    return float(np.median(steps)) / float(ndtri(0.75) * 2**0.5)


@np.errstate(all="ignore")
def noise_grid(
    x: Tensor,
    graph: Graph,
    data_weight: Tensor,
    count: int = 16,
    *,
    order: int = 0,
    sigma: float | None = None,
    loss: Loss | None = None,
) -> list[float]:
    """Values of lambda1 around the noise level, where the useful ones lie; [0] without noise.

    The noise that counts is that of the loss's slope: of the data themselves for squares.

    >>> from elasticgnn.solver import noise_grid
    >>> len(noise_grid(x, chain, torch.ones(4, 1, dtype=torch.float64), count=5))
    5
    """
    level = noise_level(x, graph, data_weight) if sigma is None else sigma
    if loss is not None:
        seen = x[_rows(data_weight).expand(_rows(x).shape).reshape(x.shape) > 0].double()
        level = loss.slope_noise(level, float(seen.mean()) if seen.numel() else 0.0)
    sigma = level / max(float(graph.scale.detach().mean()), 1e-12)
    powers = torch.linspace(-1.0, 1.5 + WIDENING * order, count, dtype=torch.float64)
    return [float(sigma * 10**power) for power in powers] if sigma > 0 else [0.0]


def _rows(values: Tensor) -> Tensor:
    return values[:, None] if values.ndim == 1 else values
