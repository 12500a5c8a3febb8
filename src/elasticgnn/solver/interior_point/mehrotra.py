"""The interior point method: Mehrotra's predictor and corrector on second-order cones.

Every step solves one system C + K' (G + lambda2 omega) K on the nodes (cones.py;
linear_algebra/assembly.py and factor.py). It does not mind missing values, ill-conditioned trends
or strengths far from the data's size, and takes 5 to 20 steps; its price is the factorisation.
"""

from dataclasses import replace

import numpy as np

from elasticgnn.solver.interior_point.any_loss import LossIteration
from elasticgnn.solver.interior_point.cones import dot
from elasticgnn.solver.interior_point.rows import Optimality, RowProblem, RowState, row_state
from elasticgnn.solver.linear_algebra.assembly import NodeSystem
from elasticgnn.solver.linear_algebra.factor import SingularSystemError
from elasticgnn.solver.methods.outcome import Outcome, joined
from elasticgnn.solver.methods.progress import GapProgress
from elasticgnn.solver.methods.stopping import INTERIOR_LIMIT, INTERIOR_SHORTEST, Stop
from elasticgnn.solver.pieces.flatten import component_means, flattened, largest_flow
from elasticgnn.solver.problem.instance import Array, Instance, with_squared_terms

TO_THE_BOUNDARY = 0.99  # share of the way to the boundary of the ball
LEAST_MU = 0.7  # of the rows' mean gap: below, the iteration stalls
EXTENSION = 1e-3  # stiffness that fills missing values for the first point
TINY = 1e-300
FLAT_SHIFT = 1e-10  # makes the flat flow's system definite; the rounds remove what it changes
FLAT_ROUNDS = 8


def interior_point(instance: Instance, stop: Stop, flow: Array, guess: Array) -> Outcome:
    """Signal and flow near the optimum; flow and guess are not used: a cold start costs little."""
    del flow, guess
    alone = instance.entrywise or instance.lambda1 == 0  # channels without an influence on others
    if alone and instance.x.shape[1] > 1:
        channels = range(instance.x.shape[1])
        return joined([_iteration(instance.channel(k), stop).run() for k in channels])
    return _iteration(instance, stop).run()


def precise_interior_point(instance: Instance, stop: Stop, flow: Array, guess: Array) -> Outcome:
    """The same in twice the digits of float64 (solver/interior_point/precise.py), for any loss."""
    del flow, guess
    if instance.entrywise or instance.lambda1 == 0:
        parts = [instance.channel(k) for k in range(instance.x.shape[1])]
    else:
        parts = [instance]
    return joined([LossIteration(with_squared_terms(p), stop, precise=True).run() for p in parts])


def _iteration(instance: Instance, stop: Stop) -> "_Iteration | LossIteration":
    if instance.terms is None and instance.channel_strength is not None and instance.entrywise:
        instance = instance.channel(0)
    if instance.terms is None and instance.channel_strength is None:
        return _Iteration(instance, stop)
    return LossIteration(with_squared_terms(instance), stop)


class _Iteration:
    """One run on an instance whose channels interact, or that has one."""

    def __init__(self, instance: Instance, stop: Stop) -> None:
        self.instance, self.stop = instance, stop
        self.live = np.flatnonzero(instance.row_weight > 0)
        all_live = len(self.live) == len(instance.row_weight)
        self.operator = instance.operator if all_live else instance.operator[self.live]
        self.adjoint = instance.adjoint if all_live else self.operator.T.tocsr()
        self.omega = instance.row_weight[self.live]
        self.largest = largest_flow(instance)
        self.radius = np.minimum(instance.lambda1 * self.omega, self.largest)
        self.quadratic = instance.lambda2 * self.omega
        self.system = NodeSystem(self.operator, self.adjoint, instance.x.shape[1])

    def run(self) -> Outcome:
        try:
            if self.instance.lambda1 == self.instance.lambda2 == 0:
                return self._finished(self._first_signal(), self._no_flow, 1)
            if (self.radius <= 0).all():
                return self._finished(self._linear(self.quadratic), self._no_flow, 1)
            limited = self.instance.geometry.boundary == "graph"
            if limited and (self.radius >= self.largest).all():
                return self._flat()
            return self._iterate()
        except SingularSystemError:  # before there was a first point
            return self._finished(component_means(self.instance), self._no_flow, 0)

    @property
    def _no_flow(self) -> Array:
        return np.zeros((len(self.live), self.instance.x.shape[1]))

    def _flat(self) -> Outcome:
        """The flat signal, and the flow of least squares that carries its residual."""
        instance, omega = self.instance, self.omega
        signal = component_means(instance)
        right = instance.data_weight * (instance.x - signal)
        flow = np.zeros((len(self.live), right.shape[1]))
        shift = FLAT_SHIFT * float(omega.max(initial=1.0)) * np.ones_like(right)
        self.system.factorise(shift, omega[:, None, None] * np.eye(right.shape[1]))
        for _ in range(FLAT_ROUNDS):
            left = right - self.adjoint @ flow
            potential = self.system.solve(left)
            flow += omega[:, None] * (self.operator @ potential)
        rows = np.zeros((instance.num_rows, right.shape[1]))
        rows[self.live] = flow
        return Outcome(signal, rows, FLAT_ROUNDS)

    def _iterate(self) -> Outcome:
        signal = self._first_signal()
        arrays = (self.operator, self.adjoint, self.radius, self.quadratic)
        problem = RowProblem(*arrays, self.instance.data_weight, self.instance.x)
        rows = row_state(problem, self.system)
        point = rows.begin(signal, self._no_flow)
        best, kept = point, (signal, self._no_flow)
        length = np.sqrt(dot(delta := np.asarray(self.operator @ signal), delta))
        mu, steps = float(length.mean() * self.radius.mean()), 0
        limit = min(self.stop.last_step, INTERIOR_LIMIT)
        interrupted = False
        with GapProgress(self.stop.rtol, self.stop.callback) as progress, np.errstate(all="ignore"):
            try:
                while steps < limit and mu > 0 and not self._is_done(point):
                    mu = max(mu, LEAST_MU * point.row_gap / len(self.live))
                    point, step, centring = _step(rows, mu)
                    mu *= 1 - step * (1 - centring)
                    steps += 1
                    if not np.isfinite(point.gap) or step < INTERIOR_SHORTEST:
                        break
                    if point.gap < best.gap:
                        best, kept = point, (rows.signal.copy(), rows.flow.copy())
                    progress.show(steps, point.gap / max(point.objective, TINY))
            except SingularSystemError:
                pass  # the best point so far is an answer; its certificate says how good
            except KeyboardInterrupt:
                interrupted = True
        return replace(self._finished(*kept, steps), interrupted=interrupted)

    def _is_done(self, point: Optimality) -> bool:
        return self.stop.ends_interior(point.objective, point.gap, point.missing_residual)

    def _first_signal(self) -> Array:
        """The data, with missing values filled smoothly."""
        if not len(self.instance.missing):
            return self.instance.x
        return self._linear(np.full(len(self.live), EXTENSION))

    def _linear(self, stiffness: Array) -> Array:
        """The minimiser of the data term and quadratic rows of this stiffness."""
        channels, weight = self.instance.x.shape[1], self.instance.data_weight
        self.system.factorise(weight, stiffness[:, None, None] * np.eye(channels))
        right = weight * self.instance.x
        signal = np.zeros_like(right)
        for _ in range(2):  # the second removes the rounding of the first
            stiff = self.adjoint @ (stiffness[:, None] * (self.operator @ signal))
            left = right - weight * signal - stiff
            signal = signal + self.system.solve(left)
        return signal

    def _finished(self, signal: Array, flow: Array, steps: int) -> Outcome:
        whole = np.zeros((self.instance.num_rows, signal.shape[1]))
        difference = np.asarray(self.operator @ signal)
        whole[self.live] = flow + self.quadratic[:, None] * difference
        return Outcome(flattened(self.instance, signal, whole), whole, steps)


def _step(rows: RowState, mu: float) -> tuple[Optimality, float, float]:
    """Where the next point stands, the step's length and the centring it used."""
    rows.scale(mu)
    reach = min(1.0, rows.predict())
    centring = min(max((1 - reach) ** 3, 1e-8), 1.0)
    step = min(1.0, TO_THE_BOUNDARY * rows.correct(centring * mu))
    return rows.advance(step), step, centring
