"""How much of a graph an attacker may change."""

import math
from dataclasses import dataclass
from numbers import Integral, Real

from elasticgnn.graph import Graph


@dataclass(frozen=True)
class AttackBudget:
    """Flips as a share of the graph's edges (`rate`, rounded down) or as a number (`edges`).

    >>> from elasticgnn.attack import AttackBudget
    >>> AttackBudget(edges=5).flips(task.graph)
    5
    >>> AttackBudget(rate=2.0, edges=5)
    Traceback (most recent call last):
    ValueError: budget must be one of rate or edges, got 2.0, 5
    """

    rate: float | None = None
    edges: int | None = None

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.edges is None):
            raise ValueError(f"budget must be one of rate or edges, got {self.rate}, {self.edges}")
        if self.rate is not None and not is_share(self.rate):
            raise ValueError(f"rate must be a number >= 0, got {self.rate!r}")
        if self.edges is not None and not is_count(self.edges):
            raise ValueError(f"edges must be a whole number >= 0, got {self.edges!r}")

    def flips(self, graph: Graph) -> int:
        """The number of flips allowed on this graph."""
        if self.edges is not None:
            return self.edges
        # 1e-9: 0.15 * 5000 must be 750 whatever the rounding of the product
        return math.floor((self.rate or 0.0) * graph.num_edges + 1e-9)


def is_share(rate: object) -> bool:
    """Whether it is a number that may be a share of the edges."""
    return isinstance(rate, Real) and math.isfinite(rate) and float(rate) >= 0


def is_count(edges: object) -> bool:
    """Whether it is a whole number that may be one of edges, numpy's included."""
    return isinstance(edges, Integral) and int(edges) >= 0
