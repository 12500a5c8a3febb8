"""Confidence intervals for the levels of constant pieces, valid after the pieces were chosen.

Data fission (Rasines and Young 2023, Leiner et al. 2023): with noise N(0, sigma^2) the two signals

    X + t Z   and   X - Z / t,    Z ~ N(0, sigma^2) independent of X,

are independent and have the same mean. The first one chooses the pieces; the means of the second
over them are normal around the means of the truth, with variance sigma^2 (1 + 1/t^2) / (size), so
that their intervals cover these means with the stated probability, however the pieces were found.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.solution import Solution


@dataclass(frozen=True)
class PieceIntervals:
    """Per constant piece: its nodes' mean of the truth lies in [low, high] with the probability.

    >>> from elasticgnn.solver import piece_intervals
    >>> found = piece_intervals(x, chain, ElasticPenalty(0.3, 0.0), 0.1, generator=generator)
    >>> bool((found.low <= found.high).all())
    True
    """

    pieces: Tensor  # (n,) number of each node's piece
    size: Tensor  # (p,) nodes with a value
    level: Tensor  # (p, d) mean of the second signal
    low: Tensor  # (p, d); NaN for a piece without values
    high: Tensor  # (p, d)
    probability: float
    solution: Solution  # that chose the pieces


@np.errstate(all="ignore")
def piece_intervals(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    sigma: float,
    *,
    probability: float = 0.95,
    share: float = 0.5,
    data_weight: Tensor | None = None,
    generator: torch.Generator,
) -> PieceIntervals:
    """Intervals for the mean of the truth over each piece, each with the given probability.

    `share` of the information chooses the pieces, the rest measures them. sigma is the standard
    deviation of the noise, which is normal and independent. A node counts where its weight is > 0,
    an entry of a channel where its own is.

    >>> from elasticgnn.solver import piece_intervals
    >>> found = piece_intervals(x, chain, ElasticPenalty(0.3, 0.0), 0.1, generator=generator)
    >>> len(found.low) == len(found.size)
    True
    """
    if not sigma > 0:
        raise ValueError(f"sigma must be a number > 0, got {sigma}")
    for name, value in (("probability", probability), ("share", share)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie in (0, 1), got {value}")
    rows = x.detach().double()
    noise = sigma * torch.randn(rows.shape, generator=generator, dtype=torch.float64)
    stretch = ((1 - share) / share) ** 0.5  # t: Var(X + tZ) = sigma^2 / share
    solution = minimise(rows + stretch * noise, graph, penalty, data_weight=data_weight)
    second = rows - noise / stretch
    deviation = sigma * (1 + 1 / stretch**2) ** 0.5
    return _measured(second, ~solution.problem.is_missing, solution, deviation, probability)


def _measured(
    signal: Tensor,
    given: NDArray[np.bool_],
    solution: Solution,
    deviation: float,
    probability: float,
) -> PieceIntervals:
    seen = torch.from_numpy(given & ~solution.problem.unobserved).double()
    pieces = solution.pieces()
    columns = signal.reshape(len(signal), -1).nan_to_num(0.0)
    count = int(pieces.max()) + 1 if len(pieces) else 0
    sums = torch.zeros(count, columns.shape[1], dtype=torch.float64)
    values = sums.index_add(0, pieces, seen)
    level = sums.index_add(0, pieces, seen * columns) / values
    half = float(ndtri((1 + probability) / 2)) * deviation / values.sqrt()
    size = torch.zeros(count, dtype=torch.float64).index_add(0, pieces, seen.amax(1))
    return PieceIntervals(pieces, size, level, level - half, level + half, probability, solution)
