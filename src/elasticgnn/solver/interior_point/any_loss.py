"""The interior point method for any loss, a lasso on the nodes, and bounds.

As mehrotra.py, with what single entries add (entries.py) and a Newton step on the
loss: the system is H + K' (G + lambda2 omega) K with H the curvature of all terms of the entries.
"""

from dataclasses import replace

import numpy as np

from elasticgnn.solver.certificate.boxes import LossBox
from elasticgnn.solver.certificate.measure import measure
from elasticgnn.solver.certificate.products import ExactProducts
from elasticgnn.solver.interior_point.cones import Cones, Move, build_cones, dot
from elasticgnn.solver.interior_point.entries import AbsoluteStep, absolute_values, barriers
from elasticgnn.solver.interior_point.point import LossDirection, LossPoint, longest_step
from elasticgnn.solver.interior_point.precise import MOST_SETTLED, PreciseSystem, twofold_curvature
from elasticgnn.solver.interior_point.snapping import snapped
from elasticgnn.solver.interior_point.start import first_mu, first_signal, inside, largest_radius
from elasticgnn.solver.linear_algebra.assembly import NodeSystem
from elasticgnn.solver.linear_algebra.factor import SingularSystemError
from elasticgnn.solver.linear_algebra.twofold import Pair, plus
from elasticgnn.solver.methods.outcome import Outcome, Settle
from elasticgnn.solver.methods.progress import GapProgress
from elasticgnn.solver.methods.stopping import LOSSES_LIMIT, LOSSES_SHORTEST, Stop
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.node_terms import Bounds
from elasticgnn.solver.problem.null_space import component_constants

TO_THE_BOUNDARY = 0.99  # share of the way to the boundary
LEAST_MU = 0.7  # of the mean slack: below, the iteration stalls
LAST_MU = 0.01  # of the goal: a smaller barrier makes the systems stiffer for nothing
LEAST_START = 0.01  # of the objective's mean over cones: a flat start has no differences
SHORT = 0.2  # a step that is tried again, with a target of CENTRED
CENTRED = 0.5
TINY = 1e-300


class LossIteration:
    """One run on an instance with `terms`, whose channels interact or that has one."""

    def __init__(self, instance: Instance, stop: Stop, *, precise: bool = False) -> None:
        assert instance.terms is not None
        self.instance, self.terms, self.stop = instance, instance.terms, stop
        self.live = np.flatnonzero(instance.row_weight > 0)
        omega = instance.row_weight[self.live]
        self.has_rows = instance.lambda1 > 0 and len(self.live) > 0
        self.radius = np.minimum(instance.lambda1 * omega, largest_radius(instance))
        self.quadratic = instance.lambda2 * omega
        self.system = PreciseSystem(instance, self.live) if precise else self._plain_system()
        self.absolute, self.barriers = absolute_values(instance), barriers(instance)
        self.box: Bounds | None = None

    def _plain_system(self) -> NodeSystem:
        operator = self.instance.operator[self.live]
        return NodeSystem(operator, operator.T.tocsr(), self.instance.x.shape[1])

    def run(self) -> Outcome:
        """Signal and flow where the iteration stopped."""
        with np.errstate(all="ignore"):
            signal = self._first_signal()
            rows = self._rows(signal, np.zeros_like(signal))
            self.box = LossBox(self.instance).bounds(self._objective(signal, rows))
            lengths = self.radius * np.sqrt(dot(rows, rows))
            mu = first_mu(self.instance, signal, lengths, self.absolute, self.barriers)
            mu = max(mu, LEAST_START * self._objective(signal, rows) / max(self._cones, 1))
            entry = tuple(np.zeros((len(term.place), 1)) for term in self.absolute)
            force = tuple(mu / barrier.room(signal) for barrier in self.barriers)
            point = self._at((signal, np.zeros_like(signal)), self._no_flow, entry, force)
            return self._iterate(point, mu)

    def _first_signal(self) -> Array:
        """Where the loss begins, or its flat part where rows over many decades count for more."""
        signal = first_signal(self.instance, self.live, self.system)
        if not isinstance(self.system, PreciseSystem):
            return signal
        flat = inside(self.terms, component_constants(self.instance, signal, np.ones_like(signal)))
        values = [self._objective(s, self._rows(s, np.zeros_like(s))) for s in (signal, flat)]
        return flat if values[1] < values[0] else signal

    @property
    def _no_flow(self) -> Array:
        return np.zeros((len(self.live), self.instance.x.shape[1]))

    @property
    def _cones(self) -> int:
        rows = len(self.live) if self.has_rows else 0
        places = [one.place for one in self.absolute] + [one.place for one in self.barriers]
        return rows + sum(map(len, places))

    def _iterate(self, point: LossPoint, mu: float) -> Outcome:
        best, steps, interrupted = point, 0, False
        limit = min(self.stop.last_step, LOSSES_LIMIT)
        with GapProgress(self.stop.rtol, self.stop.callback) as progress:
            try:
                while steps < limit and point.gap > self.stop.interior_goal(point.objective):
                    mu = max(mu, self._least_mu(point), TINY)
                    point, step, centring = self._step(point, mu)
                    mu *= 1 - step * (1 - centring)
                    steps += 1
                    if not np.isfinite(point.objective) or step < LOSSES_SHORTEST:
                        break
                    best = point if point.gap <= best.gap else best
                    progress.show(steps, point.gap / max(point.objective, TINY))
            except SingularSystemError:
                pass  # the best point so far is an answer; its certificate says how good
            except KeyboardInterrupt:
                interrupted = True
        return replace(self._finished(best, steps), interrupted=interrupted)

    def _least_mu(self, point: LossPoint) -> float:
        goal = LAST_MU * self.stop.interior_goal(point.objective)
        return max(LEAST_MU * point.slack, goal) / max(self._cones, 1)

    def _step(self, point: LossPoint, mu: float) -> tuple[LossPoint, float, float]:
        """The next point, the step's length and the centring it used."""
        cones = (
            build_cones(self.radius, point.difference, point.flow, mu) if self.has_rows else None
        )
        entries = [
            term.step(point.signal, flow, mu)
            for term, flow in zip(self.absolute, point.entry_flow, strict=True)
        ]
        self._factorise(point, cones, entries)
        affine = self._direction(point, cones, entries, 0.0, None)
        reach = min(1.0, longest_step(point, cones, entries, self.barriers, affine))
        centring = min(max((1 - reach) ** 3, 1e-8), 1.0)
        move = self._direction(point, cones, entries, centring * mu, affine)
        step = min(1.0, TO_THE_BOUNDARY * longest_step(point, cones, entries, self.barriers, move))
        if step < SHORT:
            centred = self._direction(point, cones, entries, CENTRED * mu, affine)
            longer = min(
                1.0, TO_THE_BOUNDARY * longest_step(point, cones, entries, self.barriers, centred)
            )
            if longer > step:
                move, step, centring = centred, longer, CENTRED
        largest = float(np.abs(move.signal).max(initial=0.0))
        step = min(step, self.terms.loss.longest_change / max(largest, TINY))
        moved = self._at(
            plus((point.signal, point.low), (step * move.signal, step * move.low)),
            point.flow + step * move.flow,
            tuple(f + step * m.flow for f, m in zip(point.entry_flow, move.entries, strict=True)),
            tuple(f + step * m for f, m in zip(point.force, move.force, strict=True)),
        )
        return moved, step, centring

    def _factorise(
        self, point: LossPoint, cones: Cones | None, entries: list[AbsoluteStep]
    ) -> None:
        loss, instance = self.terms.loss, self.instance
        weight = instance.data_weight * loss.smooth_curvature(point.signal, instance.x)
        diagonal = weight.ravel()
        for one in entries:
            diagonal[one.term.place] += one.curvature
        for barrier, force in zip(self.barriers, point.force, strict=True):
            diagonal[barrier.place] += force / barrier.room(point.signal)
        channels = instance.x.shape[1]
        a = np.ones(channels) * np.ravel(instance.channel_factor)
        if cones is not None and isinstance(self.system, PreciseSystem):
            blocks = twofold_curvature(cones, self.quadratic, a)
            self.system.factorise(diagonal.reshape(weight.shape), *blocks)
            return
        curvature = np.zeros((len(self.live), channels, channels))
        if cones is not None:
            curvature += cones.curvature()
        curvature += self.quadratic[:, None, None] * np.eye(channels)
        curvature *= a[:, None] * a[None, :]
        self.system.factorise(diagonal.reshape(weight.shape), curvature)

    def _direction(
        self,
        point: LossPoint,
        cones: Cones | None,
        entries: list[AbsoluteStep],
        target: float,
        affine: LossDirection | None,
    ) -> LossDirection:
        """Newton's direction towards complementarity `target`; corrected after an affine one."""
        right = -point.residual
        first = shift = None
        if cones is not None:
            first, rest = cones.scaled(*cones.aim(target, affine.rows if affine else None))
            shift = cones.curved(rest)
            right = right + self.system.divergence(shift * self.instance.channel_factor)
        right, shifts = right.ravel().copy(), []
        for k, one in enumerate(entries):
            shifts.append(one.shift(one.cones.aim(target, affine.entries[k] if affine else None)))
            right[one.term.place] += shifts[-1][0]
        constant = self._constant_forces(point, target, affine)
        for barrier, force in zip(self.barriers, constant, strict=True):
            right[barrier.place] += barrier.sign * force
        signal, low = self.system.solve_pair(right.reshape(point.signal.shape))
        change = signal.ravel()
        rows, flow = None, np.zeros_like(point.flow)
        if cones is not None and shift is not None and first is not None:
            difference = self._rows(signal, low)
            flow = cones.curved(difference) - shift
            rows = Move(signal, difference, flow, cones.slack_change(first, flow))
        moves = [one.move(change, *sent) for one, sent in zip(entries, shifts, strict=True)]
        forces = []
        for k, barrier in enumerate(self.barriers):
            stiff = point.force[k] / barrier.room(point.signal)
            forces.append(constant[k] - stiff * barrier.sign * change[barrier.place])
        return LossDirection(signal, low, flow, rows, tuple(moves), tuple(forces))

    def _constant_forces(
        self, point: LossPoint, target: float, affine: LossDirection | None
    ) -> list[Array]:
        """The part of each bound's force that does not depend on the change of the signal."""
        constant = []
        for k, barrier in enumerate(self.barriers):
            room = barrier.room(point.signal)
            aim = np.full_like(room, target)
            if affine is not None:
                aim -= barrier.sign * affine.signal.ravel()[barrier.place] * affine.force[k]
            constant.append(barrier.force(room, point.force[k], aim))
        return constant

    def _rows(self, signal: Array, low: Array) -> Array:
        return np.asarray(self.system.differences(signal, low) * self.instance.channel_factor)

    def _whole_flow(self, flow: Array, difference: Array) -> Array:
        """V of the live rows, with what lambda2 adds."""
        whole = flow + self.quadratic[:, None] * difference
        return np.asarray(whole * self.instance.channel_factor)

    def _at(
        self, pair: Pair, flow: Array, entry: tuple[Array, ...], force: tuple[Array, ...]
    ) -> LossPoint:
        (signal, low), instance, terms = pair, self.instance, self.terms
        difference = self._rows(signal, low)
        divergence = self.system.divergence(self._whole_flow(flow, difference))
        slope = instance.data_weight * terms.loss.smooth_slope(signal, instance.x)
        residual = (slope + divergence).ravel()
        slack = self._entries_into(residual, signal, entry, force)
        length = np.sqrt(dot(difference, difference))
        row_gap = float((self.radius * length - dot(difference, flow)).sum())
        slack += row_gap if self.has_rows else 0.0
        assert self.box is not None
        pair, zeros = (signal, -divergence), np.zeros_like(signal)
        node_gap, _ = terms.gap(instance.data_weight, instance.x, pair, self.box, zeros)
        gap = row_gap + node_gap
        gap = gap if gap == gap else np.inf
        objective, left = self._objective(signal, difference), residual.reshape(signal.shape)
        return LossPoint(
            *(signal, low, flow, entry, force, difference, left, objective, gap, slack)
        )

    def _entries_into(
        self, residual: Array, signal: Array, entry: tuple[Array, ...], force: tuple[Array, ...]
    ) -> float:
        """Adds what single entries push to the residual; their slack comes out."""
        slack = 0.0
        for term, own in zip(self.absolute, entry, strict=True):
            residual[term.place] += own[:, 0]
            slack += term.slack(signal, own)
        for barrier, own in zip(self.barriers, force, strict=True):
            residual[barrier.place] -= barrier.sign * own
            slack += float((barrier.room(signal) * own).sum())
        return slack

    def _objective(self, signal: Array, rows: Array) -> float:
        instance, size = self.instance, np.sqrt(dot(rows, rows))
        penalty = float((self.radius * size + self.quadratic / 2 * size**2).sum())
        return penalty + self.terms.value(instance.data_weight, instance.x, signal)

    def _finished(self, point: LossPoint, steps: int) -> Outcome:
        flow = np.zeros((self.instance.num_rows, point.signal.shape[1]))
        flow[self.live] = self._whole_flow(point.flow, point.difference)
        return Outcome(self._snapped(point, flow), flow, steps, settle=self._settle(point))

    def _settle(self, point: LossPoint) -> Settle | None:
        system, many = self.system, point.signal.size > MOST_SETTLED
        if many or not isinstance(system, PreciseSystem) or not system.is_factorised:
            return None
        return lambda units: system.settled((point.signal, point.low), units)

    def _snapped(self, point: LossPoint, flow: Array) -> Array:
        """The signal with entries on their corners and pieces of one value, if that is no worse."""
        entries = zip(self.absolute, point.entry_flow, strict=True)
        bounds = zip(self.barriers, point.force, strict=True)
        tidy = snapped(self.instance, point.signal, flow, entries, bounds)
        box = LossBox(self.instance).bounds(point.objective)
        precise = isinstance(self.system, PreciseSystem)
        products = ExactProducts(self.instance) if precise else None
        raw = measure(self.instance, point.signal, flow, box, products)
        better = measure(self.instance, tidy, flow, box, products)
        goal = max(raw.gap, self.stop.interior_goal(raw.objective))
        return tidy if better.gap <= goal else point.signal
