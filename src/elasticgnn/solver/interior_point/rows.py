"""The rows of an interior point iteration: the state of one run, and the four parts of a step.

`PlainRows` is the definition, in numpy; `CompiledRows` the same in kernels/solver/interior.isa.cpp.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from elasticgnn.solver.interior_point.cones import Cones, Move, build_cones, dot
from elasticgnn.solver.linear_algebra.assembly import NodeSystem
from elasticgnn.solver.problem.geometry import Array
from elasticgnn.solver.problem.mesh import loops

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Optimality:
    """How good a point is."""

    objective: float
    row_gap: float
    node_gap: float
    missing_residual: float  # sum of |residual| where values are missing

    @property
    def gap(self) -> float:
        """The duality gap, apart from the residual at missing values."""
        return self.row_gap + self.node_gap


@dataclass(frozen=True)
class RowProblem:
    """min sum c/2 (F - X)^2 + sum radius |delta| + quadratic/2 |delta|^2, delta = K F."""

    operator: "csr_array"  # K (r, n)
    adjoint: "csr_array"
    radius: Array  # (r,)
    quadratic: Array  # (r,)
    data_weight: Array  # (n, d) c
    x: Array  # (n, d)


class RowState(Protocol):
    """A point, and the steps from it."""

    signal: Array  # (n, d)
    flow: Array  # (r, d), without the quadratic part

    def begin(self, signal: Array, flow: Array) -> Optimality:
        """Stand at this point."""

    def scale(self, mu: float) -> None:
        """The system of this point and mu, factorised."""

    def predict(self) -> float:
        """The affine direction; returns how far flows can follow it."""

    def correct(self, target: float) -> float:
        """The direction towards complementarity `target`; returns how far flows can follow it."""

    def advance(self, step: float) -> Optimality:
        """Move along the direction."""


def row_state(problem: RowProblem, system: NodeSystem) -> RowState:
    """The compiled loops where they are installed and have so many channels."""
    return CompiledRows(problem, system) if system.compiled else PlainRows(problem, system)


class PlainRows:
    """numpy: the definition."""

    def __init__(self, problem: RowProblem, system: NodeSystem) -> None:
        self.problem, self.system = problem, system
        self.signal = self.flow = self.difference = self.residual = np.empty((0, 0))
        self.cones: Cones | None = None
        self.move: Move | None = None

    def begin(self, signal: Array, flow: Array) -> Optimality:
        """Stand at this point."""
        problem = self.problem
        self.signal, self.flow = signal, flow
        self.difference = np.asarray(problem.operator @ signal)
        quadratic = problem.quadratic[:, None] * self.difference
        off = signal - problem.x
        self.residual = problem.data_weight * off + problem.adjoint @ (flow + quadratic)
        seen = problem.data_weight > 0
        rows = problem.radius * np.sqrt(dot(self.difference, self.difference))
        row_gap = float((rows - dot(self.difference, flow)).sum())
        squares = self.residual[seen] ** 2 / problem.data_weight[seen]
        data = float((problem.data_weight * off**2).sum() / 2)
        objective = data + float(rows.sum() + dot(quadratic, self.difference).sum() / 2)
        missing = float(np.abs(self.residual[~seen]).sum())
        return Optimality(objective, row_gap, float(squares.sum() / 2), missing)

    def scale(self, mu: float) -> None:
        """The system of this point and mu, factorised."""
        self.cones = build_cones(self.problem.radius, self.difference, self.flow, mu)
        curvature, entry = self.cones.curvature(), np.arange(self.signal.shape[1])
        curvature[:, entry, entry] += self.problem.quadratic[:, None]
        self.system.factorise(self.problem.data_weight, curvature)

    def predict(self) -> float:
        """The affine direction; returns how far flows can follow it."""
        assert self.cones is not None
        return self._go(self.cones, -self.cones.lam0, -self.cones.lam1)

    def correct(self, target: float) -> float:
        """The direction towards complementarity `target`; returns how far flows can follow it."""
        assert self.cones is not None
        assert self.move is not None
        return self._go(self.cones, *self.cones.corrected(target, self.move))

    def _go(self, cones: Cones, q0: Array, q1: Array) -> float:
        first, rest = cones.scaled(q0, q1)
        shift = cones.curved(rest)
        right = np.asarray(self.problem.adjoint @ shift - self.residual)
        signal = self.system.solve(right)
        difference = np.asarray(self.problem.operator @ signal)
        flow = cones.curved(difference) - shift
        self.move = Move(signal, difference, flow, cones.slack_change(first, flow))
        return cones.longest_step(flow)

    def advance(self, step: float) -> Optimality:
        """Move along the direction."""
        assert self.move is not None
        return self.begin(self.signal + step * self.move.signal, self.flow + step * self.move.flow)


class CompiledRows:
    """The compiled loops; the arrays are those that they read and write."""

    def __init__(self, problem: RowProblem, system: NodeSystem) -> None:
        self.system = system
        (nodes, d), rows = problem.x.shape, len(problem.radius)
        self.signal, residual, self.change = (np.empty((nodes, d)) for _ in range(3))
        self.flow, difference = (np.empty((rows, d)) for _ in range(2))
        scratch = [np.empty(rows) for _ in range(5)] + [np.empty((rows, d)) for _ in range(5)]
        scratch += [np.empty((rows, d * (d + 1) // 2))]
        given = (problem.radius, problem.quadratic, problem.data_weight, problem.x)
        arrays = [np.ascontiguousarray(array, dtype=np.float64) for array in given]
        arrays += [self.signal, residual, self.change, self.flow, difference, *scratch]
        matrices = system.rows.handle, system.adjoint.handle
        self.rows, self.kept_alive = loops().Interior(d, *matrices, *arrays), arrays

    def begin(self, signal: Array, flow: Array) -> Optimality:
        """Stand at this point."""
        self.signal[:], self.flow[:] = signal, flow
        return Optimality(*loops().interior_optimality(self.rows, 0.0))

    def scale(self, mu: float) -> None:
        """The system of this point and mu, factorised; the affine right side."""
        loops().interior_scale(self.rows, self.system.target, mu)
        self.system.factor.factorise()

    def predict(self) -> float:
        """The affine direction; returns how far flows can follow it."""
        return self._go()

    def correct(self, target: float) -> float:
        """The direction towards complementarity `target`; returns how far flows can follow it."""
        loops().interior_correct(self.rows, target)
        return self._go()

    def _go(self) -> float:
        right = self.change.reshape(-1)
        solved = self.system.factor.solve(right)
        if solved is not right:
            right[:] = solved
        return float(loops().interior_follow(self.rows))

    def advance(self, step: float) -> Optimality:
        """Move along the direction."""
        return Optimality(*loops().interior_optimality(self.rows, step))
