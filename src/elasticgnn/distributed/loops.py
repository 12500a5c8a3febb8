"""The compiled loops on one process's rows, and the exchanges between them.

Interior rows are computed while halo rows are under way; boundary rows follow when they are there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from elasticgnn.distributed.exchange import Pending
from elasticgnn.distributed.graph import DistributedGraph
from elasticgnn.distributed.zero_rows import zero_rows
from elasticgnn.kernels import native
from elasticgnn.operator.kernel_call import address, form_number, in_memory, kernel
from elasticgnn.problem import EdgePenalty
from elasticgnn.problem.step_sizes import StepSizes

SAVED_BYTES = 3 << 30  # for the adjoint in a process; where steps leave more, some run again


class Arrival(Protocol):
    """An exchange under way."""

    def finish(self) -> None:
        """Returns when the halo rows are there."""


class Tape(NamedTuple):
    """What one step leaves for its adjoint; rows include the halo."""

    u: Tensor | None  # s F before the step, where strengths are wanted
    predicted: Tensor  # s Fb
    dual: Tensor | None  # Z before the step


class Loops:
    """One problem on one process: arrays that the loops read, and calls of them."""

    def __init__(
        self, graph: DistributedGraph, edge_penalty: EdgePenalty, sizes: StepSizes, width: int
    ) -> None:
        self.graph, self.width, self.dtype = graph, width, sizes.gamma.dtype
        self.padded = 4 if width <= 4 else -(-width // 8) * 8
        self.rows, self.owned = len(graph.local.nodes), graph.local.owned
        lambda1, gamma, beta, smoothing = sizes.numbers[0]
        self.numbers = (gamma, beta, smoothing, lambda1, *edge_penalty.line(beta))
        self.form = form_number(edge_penalty)
        self.has_dual = lambda1 > 0 and gamma > 0
        self.scale = scales(graph).to(self.dtype)
        given = graph.weight  # any view: the loops read one number after another
        self.weight = None if given is None else in_memory(given.detach()).to(self.dtype)
        weights = graph.degree[: self.owned] - float(graph.normalization == "degree")
        own = scales(graph)[: self.owned]
        self.own_factor = (((1 - gamma) - smoothing * own * own * weights) / own).to(self.dtype)
        self.arrays = self._arrays()
        self.stride = sys.maxsize  # every so many steps one is remembered, the others run again
        self.states: list[Any] = []  # what was remembered; None: the beginning

    def choose_stride(self, steps: int) -> None:
        """Forgets steps where all of them would fill the memory; in all processes alike."""
        size = self.graph.heaviest * self.padded * self.dtype.itemsize
        if self.has_dual and steps * size > SAVED_BYTES:
            self.stride = math.isqrt(steps - 1) + 1

    def _arrays(self) -> tuple[Tensor, ...]:
        local = self.graph.local
        names = ("start", "column", "edge", "lead", "other")
        return tuple(torch.from_numpy(getattr(local, name)) for name in names)

    @cached_property
    def problem(self) -> tuple[Any, ...]:
        """The arrays and numbers of every call, as the loops take them."""
        if native is None:
            raise ValueError(
                "the distributed operator needs the compiled kernels: install a C++17 compiler "
                "and elasticgnn again"
            )
        arrays = (*self.arrays, self.weight, self.scale, self.own_factor)
        return addresses(arrays), self.numbers

    @property
    def gamma(self) -> float:
        """The step size of the signal."""
        return self.numbers[0]

    # -- memory ----------------------------------------------------------------------------------

    def node_rows(self, *, halo: bool = False) -> Tensor:
        """Zeros with a padded row per node, those of the halo too if asked."""
        return zero_rows(self.rows if halo else self.owned, self.padded, self.dtype)

    def dual_rows(self) -> Tensor:
        """Zeros with a padded row per edge."""
        return zero_rows(self.graph.local.num_edges, self.padded, self.dtype)

    def load(self, pieces: list[Tensor], *, halo: bool = False) -> Tensor:
        """Rows in the parts' order (owned, width), in pieces, as padded local ones.

        Empties the list, so that rows without another owner are not in memory twice.
        """
        rows, first = self.node_rows(halo=halo), 0
        place = torch.from_numpy(self.graph.local.place)
        while pieces:
            piece = pieces.pop(0)
            rows[place[first : first + len(piece)], : self.width] = piece
            first += len(piece)
        return rows

    def unload(self, rows: Tensor) -> Tensor:
        """Local rows in the parts' order (owned, width)."""
        return rows[torch.from_numpy(self.graph.local.place), : self.width]

    # -- passes ----------------------------------------------------------------------------------

    def start(self, rows: Tensor) -> Pending:
        """Begins to send rows to the processes that need them."""
        return self.graph.exchange.start(rows, self.width)

    def call(self, name: str, begin: int, end: int, *arrays: tuple[int, ...]) -> None:
        """One pass of a kernel over the rows begin .. end - 1."""
        part = (begin, end, self.padded, torch.get_num_threads(), self.form)
        problem = self.problem  # which says where there are no kernels
        kernel(name, self.dtype)(*problem, part, *arrays)

    def around(self, pending: Arrival, name: str, *rows: Tensor | None) -> None:
        """A kernel on the interior while the exchange goes on, then on the boundary."""
        interior, arrays = self.graph.local.interior, addresses(rows)
        self.call(name, 0, interior, arrays)
        pending.finish()
        self.call(name, interior, self.owned, arrays)

    def smooth(
        self,
        pending: Arrival,
        u: Tensor,
        out: Tensor,
        x: Tensor | None,
        q: Tensor | None = None,
        y: Tensor | None = None,
    ) -> None:
        """out = s (gamma x + (1 - gamma) F - smoothing L F - gamma s q) for u = s F."""
        self.around(pending, "halo_smooth", x, q, u, out, y)

    def ascend(self, pending: Arrival, *rows: Tensor | None) -> None:
        """dual, q and u after the dual step; rows: u, predicted, y, dual, dual_out, q, f."""
        self.around(pending, "halo_ascend", *rows)

    def adjoint_step(self, pending: Arrival, *rows: Tensor | None) -> None:
        """The adjoint up to s gFb; rows as `HaloAdjoint` lists them."""
        self.around(pending, "halo_adjoint_step", *rows)

    def correct_dual(self, begin: int, end: int, dual_grad: Tensor, b: Tensor) -> None:
        """gZ <- t - gamma w (B_i - B_j) for the edges that rows begin .. end - 1 lead."""
        self.call("halo_correct_dual", begin, end, addresses((dual_grad, b)))

    def add_strengths(self, rows: tuple[Tensor | None, ...], sums: tuple[Tensor, ...]) -> None:
        """One step's share of the gradients of weights, scales and step sizes."""
        self.call("halo_strengths", 0, self.owned, addresses(rows), addresses(sums))


def addresses(arrays: Sequence[Tensor | None]) -> tuple[int, ...]:
    """Where the arrays lie in memory, 0 for none."""
    return tuple(map(address, arrays))


def scales(graph: DistributedGraph) -> Tensor:
    """s per row, halo included, float64."""
    if graph.normalization == "none":
        return torch.ones_like(graph.degree)
    return graph.degree.rsqrt()
