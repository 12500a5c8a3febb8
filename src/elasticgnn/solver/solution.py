"""What the solver returns: a signal, its dual, and how far from the optimum it can be."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.solver.segments import Boundary, boundary_edges, piece_labels


@dataclass(frozen=True, eq=False)
class Solution:
    """A signal with its certificate: objective - gap <= min P <= objective, rounding included.

    `value` and `dual` are float64, since the certificate speaks of these very numbers.
    """

    value: Tensor  # F, shaped like x
    dual: Tensor  # W of the folded dual per unit of weight, a row per edge (order 1: per node)
    objective: float
    gap: float
    steps: int
    seconds: float
    certified: bool  # the gap is at most rtol * objective, or as small as rounding lets it be
    graph: Graph
    lambda1: float

    @property
    def relative_gap(self) -> float:
        return self.gap / self.objective if self.objective > 0 else self.gap

    @property
    def distance_bound(self) -> float:
        """sqrt(2 gap) >= sqrt(sum_i c_i |F_i - F*_i|^2), by strong convexity of the data term."""
        return math.sqrt(2 * max(self.gap, 0.0))

    def summary(self) -> str:
        """One line: objective, gap, distance, steps, seconds, verdict."""
        verdict = "certified" if self.certified else "NOT certified"
        return (
            f"{verdict}: objective {self.objective:.10g}, gap {self.gap:.2e} "
            f"(relative {self.relative_gap:.2e}), distance <= {self.distance_bound:.2e}, "
            f"{self.steps} steps, {self.seconds:.2f} s"
        )

    def pieces(self, *, tolerance: float | None = None) -> Tensor:
        """The number of each node's constant piece (n,), by first node.

        Pieces are the components of the graph of zero differences (of the degree-scaled signal);
        `tolerance` is what counts as zero, by default the certificate's own distance per node.
        """
        return piece_labels(self.value, self.graph, self._zero(tolerance))

    def boundary(self, *, tolerance: float | None = None) -> Boundary:
        """The edges between pieces, most saturated first, longer jumps first among equals."""
        labels = self.pieces(tolerance=tolerance)
        return boundary_edges(self.value, self.dual, self.graph, self.lambda1, labels)

    def _zero(self, tolerance: float | None) -> float:
        if tolerance is not None:
            return tolerance
        spread = float(torch.std(self.value, correction=0)) if self.value.numel() else 0.0
        return max(1e-6 * spread, 1e-12)
