"""The interior point method: Mehrotra's predictor and corrector on second-order cones.

Every step solves one system C + K' (G + lambda2 omega) K on the nodes (solver/cones.py,
assembly.py, factor.py). It does not mind missing values, ill-conditioned trends or strengths far
from the data's size, and takes 10 to 30 steps; its price is the factorisation.
"""

from dataclasses import dataclass, replace

import numpy as np

from elasticgnn.solver.assembly import NodeSystem
from elasticgnn.solver.cones import Cones, Move, build_cones, dot
from elasticgnn.solver.factor import Factor, SingularSystemError, build_factor
from elasticgnn.solver.flatten import component_means, flattened, largest_flow
from elasticgnn.solver.instance import Array, Instance, with_squared_terms
from elasticgnn.solver.interior_losses import LossIteration
from elasticgnn.solver.outcome import Outcome, joined
from elasticgnn.solver.progress import GapProgress
from elasticgnn.solver.stopping import Stop

STEP_LIMIT = 100
GOAL = 0.05  # of rtol: the last steps are cheap, and flat rows become clear
TO_THE_WALL = 0.99  # share of the way to the boundary of the ball
LEAST_MU = 0.7  # of the rows' mean gap: below, the iteration stalls
EXTENSION = 1e-3  # stiffness that fills missing values for the first point
TINIEST_STEP = 1e-7
TINY = 1e-300
FLAT_SHIFT = 1e-10  # makes the flat flow's system definite; the rounds remove what it changes
FLAT_ROUNDS = 8


def interior_point(instance: Instance, stop: Stop, flow: Array, guess: Array) -> Outcome:
    """Signal and flow near the optimum; flow and guess are not used: a cold start costs little."""
    del flow, guess
    if instance.entrywise and instance.x.shape[1] > 1:
        channels = range(instance.x.shape[1])
        return joined([_iteration(instance.channel(k), stop).run() for k in channels])
    return _iteration(instance, stop).run()


def _iteration(instance: Instance, stop: Stop) -> "_Iteration | LossIteration":
    if instance.terms is None and instance.channel_strength is not None and instance.entrywise:
        instance = instance.channel(0)
    if instance.terms is None and instance.channel_strength is None:
        return _Iteration(instance, stop)
    return LossIteration(with_squared_terms(instance), stop)


@dataclass(frozen=True)
class _Point:
    """Signal, flow on the live rows, and how good they are."""

    signal: Array
    flow: Array
    difference: Array
    residual: Array  # (n, d) of the optimality condition
    objective: float
    row_gap: float
    node_gap: float
    left: float  # sum of |residual| where values are missing

    @property
    def gap(self) -> float:
        return self.row_gap + self.node_gap

    def reaches(self, rtol: float) -> bool:
        goal = rtol * self.objective
        return self.gap <= goal and self.left <= 0.01 * goal


class _Iteration:
    """One run on an instance whose channels interact, or that has one."""

    def __init__(self, instance: Instance, stop: Stop) -> None:
        self.instance, self.stop = instance, stop
        self.live = np.flatnonzero(instance.row_weight > 0)
        self.operator = instance.operator[self.live]
        self.adjoint = self.operator.T.tocsr()
        omega = instance.row_weight[self.live]
        self.largest = largest_flow(instance)
        self.radius = np.minimum(instance.lambda1 * omega, self.largest)
        self.quadratic = instance.lambda2 * omega
        self.system = NodeSystem(self.operator, instance.x.shape[1])
        self.factor: Factor = build_factor(self.system.pattern)

    def run(self) -> Outcome:
        try:
            if self.instance.lambda1 == self.instance.lambda2 == 0:
                return self._finished(self._at(self._first_signal(), self._no_flow), 1)
            if (self.radius <= 0).all():
                return self._finished(self._linear(self.quadratic), 1)
            limited = self.instance.geometry.boundary == "graph"
            if limited and (self.radius >= self.largest).all():
                return self._flat()
            return self._iterate()
        except SingularSystemError:  # before there was a first point
            return self._finished(self._at(component_means(self.instance), self._no_flow), 0)

    @property
    def _no_flow(self) -> Array:
        return np.zeros((len(self.live), self.instance.x.shape[1]))

    def _flat(self) -> Outcome:
        """The flat signal, and the flow of least squares that carries its residual."""
        instance, omega = self.instance, self.instance.row_weight[self.live]
        signal = component_means(instance)
        right = instance.data_weight * (instance.x - signal)
        flow = np.zeros((len(self.live), right.shape[1]))
        shift = FLAT_SHIFT * float(omega.max(initial=1.0)) * np.ones_like(right)
        curvature = omega[:, None, None] * np.eye(right.shape[1])
        self.factor.factorise(self.system.values(shift, curvature))
        for _ in range(FLAT_ROUNDS):
            left = right - self.adjoint @ flow
            potential = self.factor.solve(left.ravel()).reshape(left.shape)
            flow += omega[:, None] * (self.operator @ potential)
        rows = np.zeros((instance.num_rows, right.shape[1]))
        rows[self.live] = flow
        return Outcome(signal, rows, FLAT_ROUNDS)

    def _iterate(self) -> Outcome:
        signal = self._first_signal()
        point = best = self._at(signal, self._no_flow)
        length = np.sqrt(dot(point.difference, point.difference))
        mu, steps = float(length.mean() * self.radius.mean()), 0
        limit = min(self.stop.last_step, STEP_LIMIT)
        interrupted = False
        with GapProgress(self.stop.rtol, self.stop.callback) as progress, np.errstate(all="ignore"):
            try:
                while steps < limit and mu > 0 and not point.reaches(GOAL * self.stop.rtol):
                    mu = max(mu, LEAST_MU * point.row_gap / len(self.live))
                    point, step, centring = self._step(point, mu)
                    mu *= 1 - step * (1 - centring)
                    steps += 1
                    if not np.isfinite(point.gap) or step < TINIEST_STEP:
                        break
                    best = min(best, point, key=lambda one: one.gap)
                    progress.show(steps, point.gap / max(point.objective, TINY))
            except SingularSystemError:
                pass  # the best point so far is an answer; its certificate says how good
            except KeyboardInterrupt:
                interrupted = True
        return replace(self._finished(best, steps), interrupted=interrupted)

    def _step(self, point: _Point, mu: float) -> tuple[_Point, float, float]:
        """The next point, the step's length and the centring it used."""
        cones = build_cones(self.radius, point.difference, point.flow, mu)
        self._factorise(cones.curvature())
        affine = self._move(cones, point, -cones.lam0, -cones.lam1)
        reach = min(1.0, cones.longest_step(affine.flow))
        centring = min(max((1 - reach) ** 3, 1e-8), 1.0)
        move = self._move(cones, point, *cones.corrected(centring * mu, affine))
        step = min(1.0, TO_THE_WALL * cones.longest_step(move.flow))
        moved = self._at(point.signal + step * move.signal, point.flow + step * move.flow)
        return moved, step, centring

    def _move(self, cones: Cones, point: _Point, q0: Array, q1: Array) -> Move:
        first, rest = cones.scaled(q0, q1)
        pull = cones.curved(rest)
        right = self.adjoint @ pull - point.residual
        signal = self.factor.solve(right.ravel()).reshape(right.shape)
        difference = np.asarray(self.operator @ signal)
        flow = cones.curved(difference) - pull
        return Move(signal, difference, flow, cones.slack_change(first, flow))

    def _factorise(self, curvature: Array) -> None:
        curvature[:, range(curvature.shape[1]), range(curvature.shape[1])] += self.quadratic[
            :, None
        ]
        self.factor.factorise(self.system.values(self.instance.data_weight, curvature))

    def _at(self, signal: Array, flow: Array) -> _Point:
        instance = self.instance
        difference = np.asarray(self.operator @ signal)
        quadratic = self.quadratic[:, None] * difference
        off = signal - instance.x
        residual = instance.data_weight * off + self.adjoint @ (flow + quadratic)
        seen = ~instance.is_missing
        length = np.sqrt(dot(difference, difference))
        rows = self.radius * length
        row_gap = float((rows - dot(difference, flow)).sum())
        node_gap = float((residual[seen] ** 2 / instance.data_weight[seen]).sum() / 2)
        data = float((instance.data_weight * off**2).sum() / 2)
        objective = data + float(rows.sum() + dot(quadratic, difference).sum() / 2)
        left = float(np.abs(residual[~seen]).sum())
        return _Point(signal, flow, difference, residual, objective, row_gap, node_gap, left)

    def _first_signal(self) -> Array:
        """The data, with missing values filled smoothly."""
        if not len(self.instance.missing):
            return self.instance.x
        return self._linear(np.full(len(self.live), EXTENSION)).signal

    def _linear(self, stiffness: Array) -> _Point:
        """The minimiser of the data term and quadratic rows of this stiffness."""
        channels = self.instance.x.shape[1]
        curvature = stiffness[:, None, None] * np.eye(channels)
        self.factor.factorise(self.system.values(self.instance.data_weight, curvature))
        right = self.instance.data_weight * self.instance.x
        signal = np.zeros_like(right)
        for _ in range(2):  # the second removes the rounding of the first
            pull = self.adjoint @ (stiffness[:, None] * (self.operator @ signal))
            left = right - self.instance.data_weight * signal - pull
            signal = signal + self.factor.solve(left.ravel()).reshape(right.shape)
        return self._at(signal, self._no_flow)

    def _finished(self, point: _Point, steps: int) -> Outcome:
        flow = np.zeros((self.instance.num_rows, point.signal.shape[1]))
        flow[self.live] = point.flow + self.quadratic[:, None] * point.difference
        return Outcome(flattened(self.instance, point.signal, flow), flow, steps)
