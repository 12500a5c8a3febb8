"""What the solver returns: a signal, its dual, and how far from the optimum it can be."""

import math
import sys
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.penalties.registry import PENALTIES, penalty_by_name
from elasticgnn.solver.certificate.measure import Verdict
from elasticgnn.solver.derivative.freedom import freedom_of
from elasticgnn.solver.losses import Loss, Squared
from elasticgnn.solver.pieces.segments import (
    Boundary,
    as_rows,
    boundary_edges,
    edge_reach,
    flat_edges,
    jump_lengths,
    middle_nodes,
    nearly_equal,
    piece_labels,
)
from elasticgnn.solver.pieces.spread import usual_rows
from elasticgnn.solver.problem.geometry import Geometry
from elasticgnn.solver.problem.instance import Instance

ROUNDINGS = 8  # of the numbers that a difference is made of


@dataclass(frozen=True, eq=False)
class Solution:
    """A signal with its certificate: objective - gap <= min P <= objective, rounding included.

    `value` and `dual` are float64, since the certificate speaks of these very numbers.

    >>> from elasticgnn.solver import minimise
    >>> solution = minimise(x, chain, ElasticPenalty(0.3, 0.0))
    >>> solution.certified, solution.pieces().tolist(), solution.gap <= 1e-6 * solution.objective
    (True, [0, 0, 1, 1], True)
    """

    value: Tensor  # F, shaped like x
    dual: Tensor  # W of the folded dual per unit of weight, a row per edge (order 1: per node)
    objective: float
    gap: float
    relative_gap: float  # gap / objective, also where these leave the range of float64
    distance_bound: float  # sqrt(2 gap) >= sqrt(sum_i c_i |F_i - F*_i|^2); inf for other losses
    verdict: Verdict
    method: str  # "constant", "forest", "interior", "ascent", "precise" or "papc"
    reason: str  # why this method
    steps: int
    seconds: float
    graph: Graph
    lambda1: float
    norm: str
    order: int
    problem: Instance = field(repr=False)  # as the solver read it
    boundary_rule: str = "graph"  # "free": trend filtering on chains
    loss: Loss = field(default_factory=Squared)
    interrupted: bool = False  # by Ctrl-C: the best point until then

    def degrees_of_freedom(self, generator: torch.Generator | None = None) -> float:
        """The trace of dF/dX: the number of pieces for order 0 without lambda2, channels alone.

        Elsewhere it is estimated with random probes, which need a generator.
        """
        return freedom_of(self.problem, self, generator)

    @property
    def mean(self) -> Tensor:
        """The data that F predicts: rates for "poisson", probabilities for "logistic"."""
        return torch.from_numpy(self.loss.mean(self.value.detach().numpy()))

    @property
    def certified(self) -> bool:
        """Whether the gap is at most rtol * objective."""
        return self.verdict is Verdict.CERTIFIED

    def summary(self) -> str:
        """One line: verdict, objective, gap, distance, method and why, steps, seconds."""
        return (
            f"{self.verdict}: objective {self._in_range(self.objective, '.10g')}, "
            f"gap {self._in_range(self.gap, '.2e')} (relative {self.relative_gap:.2e}), "
            f"distance <= {self.distance_bound:.2e}, "
            f"{self.method} ({self.reason}): {self.steps} steps, {self.seconds:.2f} s"
        )

    def is_too_small(self, value: float) -> bool:
        """Whether an objective or gap is below what float64 can hold, though it is not 0."""
        return value < sys.float_info.min and self.relative_gap > 0

    def _in_range(self, value: float, digits: str) -> str:
        """The number, or that float64 cannot hold it: the relative gap still can be known."""
        if value == math.inf:
            return "above what float64 can hold"
        if self.is_too_small(value):
            return "below what float64 can hold"
        return format(value, digits)

    @property
    def num_empty(self) -> int:
        """How many nodes have no value in some channel: nothing is known in their component."""
        return int(self._is_missing.any(1).sum())

    def num_pieces(self) -> int:
        """How many constant pieces have a value."""
        return torch.unique(self.pieces()[~self._is_missing.all(1)]).numel()

    @property
    def _is_missing(self) -> Tensor:
        return as_rows(self.value.detach()).isnan()

    def pieces(self, *, tolerance: float | None = None, channel: int | None = None) -> Tensor:
        """The number of each node's constant piece (n,), by first node; of one `channel` if given.

        Pieces are the components of the graph of zero differences (of the degree-scaled signal).
        With `tolerance` a difference is zero up to that length. Without, it is zero where its two
        ends are equal up to their last digits, or where the dual lies further inside its ball than
        the difference is long, as a share of lambda1 and of the data's range (complementary
        slackness). Nodes of a component without any value are one piece.
        """
        value = as_rows(self.value.detach())
        columns = slice(None) if channel is None else [channel]
        if tolerance is not None:
            flat = jump_lengths(value[:, columns], self.graph) <= tolerance
        else:
            flat = self._flat_entries(value)[:, columns].all(1)
        return piece_labels(flat, self.graph)

    def _flat_entries(self, value: Tensor) -> Tensor:
        """(m, d): edges that carry no difference, by their ends or by their dual."""
        equal = nearly_equal(value, self.graph)
        if self.order > 0 or self.boundary_rule == "free":
            return equal
        usual = torch.from_numpy(usual_rows(self.problem) / self.problem.channel_factor)
        dual = as_rows(self.dual.detach())
        entrywise = PENALTIES[self.norm].entrywise or value.shape[1] == 1
        options = (self.graph, self.lambda1, usual)
        return equal | flat_edges(value, dual, *options, entrywise=entrywise)

    @np.errstate(all="ignore")
    def knots(self) -> Tensor:
        """Nodes at which a trend of order > 0 changes, ascending: where the difference is not zero.

        A row of the difference operator is zero where its dual lies further inside its ball than
        the row is long, as shares of lambda1 and of what the data's range can make of the row, or
        where it is no longer than rounding makes it. Its node is the middle one.
        """
        rows = Geometry(self.graph, self.order, self.boundary_rule)
        value = np.nan_to_num(as_rows(self.value.detach()).numpy())
        value = value * self.problem.channel_factor
        size = np.abs(rows.operator @ value).max(1)
        made_of = (abs(rows.operator) @ np.abs(value)).max(1)
        reach = penalty_by_name(self.norm).dual_norm(as_rows(self.dual.detach())).numpy()
        room = 1 - reach / self.lambda1 if self.lambda1 > 0 else np.zeros_like(reach)
        moving = room <= size / usual_rows(self.problem).max(1)
        moving &= size > ROUNDINGS * np.finfo(np.float64).eps * made_of
        return torch.from_numpy(np.unique(middle_nodes(rows.operator)[moving]))

    def boundary(self, *, tolerance: float | None = None) -> Boundary:
        """The edges between pieces, most saturated first, longer jumps first among equals."""
        labels = self.pieces(tolerance=tolerance)
        rows = Geometry(self.graph, self.order, self.boundary_rule)
        reach = edge_reach(self.dual.detach(), rows)
        return boundary_edges(self.value, reach, self.graph, self.lambda1, labels)
