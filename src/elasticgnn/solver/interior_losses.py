"""The interior point method for any loss, a lasso on the nodes, and bounds.

As solver/interior.py, with what single entries add (solver/entries.py) and a Newton step on the
loss: the system is H + K' (G + lambda2 omega) K with H the curvature of all terms of the entries.
"""

from dataclasses import dataclass, replace

import numpy as np

from elasticgnn.solver.assembly import NodeSystem
from elasticgnn.solver.boxes import LossBox
from elasticgnn.solver.cones import Cones, Move, build_cones, dot
from elasticgnn.solver.entries import AbsoluteStep, absolute_values, walls
from elasticgnn.solver.factor import SingularSystemError
from elasticgnn.solver.instance import Array, Instance
from elasticgnn.solver.loss_start import first_mu, first_signal, largest_radius
from elasticgnn.solver.measure import measure
from elasticgnn.solver.node_terms import Bounds
from elasticgnn.solver.outcome import Outcome
from elasticgnn.solver.progress import GapProgress
from elasticgnn.solver.snapping import snapped
from elasticgnn.solver.stopping import Stop

STEP_LIMIT = 150
GOAL = 0.05  # of rtol
TO_THE_WALL = 0.99  # share of the way to the boundary
LEAST_MU = 0.7  # of the mean slack: below, the iteration stalls
TINIEST_STEP = 1e-9
TINY = 1e-300


@dataclass(frozen=True)
class _Point:
    """Signal, flows and forces, and how good they are."""

    signal: Array
    flow: Array  # (r, d) of the rows a delta
    entry_flow: tuple[Array, ...]
    force: tuple[Array, ...]
    difference: Array
    residual: Array
    objective: float
    gap: float
    slack: float  # what complementarity leaves, over all cones and bounds


@dataclass(frozen=True)
class _Direction:
    signal: Array
    flow: Array
    rows: Move | None
    entries: tuple[Move, ...]
    force: tuple[Array, ...]


class LossIteration:
    """One run on an instance with `terms`, whose channels interact or that has one."""

    def __init__(self, instance: Instance, stop: Stop) -> None:
        assert instance.terms is not None
        self.instance, self.terms, self.stop = instance, instance.terms, stop
        self.live = np.flatnonzero(instance.row_weight > 0)
        self.operator = instance.operator[self.live]
        self.adjoint = self.operator.T.tocsr()
        omega = instance.row_weight[self.live]
        self.has_rows = instance.lambda1 > 0 and len(self.live) > 0
        self.radius = np.minimum(instance.lambda1 * omega, largest_radius(instance))
        self.quadratic = instance.lambda2 * omega
        self.system = NodeSystem(self.operator, self.adjoint, instance.x.shape[1])
        self.absolute, self.walls = absolute_values(instance), walls(instance)
        self.box: Bounds | None = None

    def run(self) -> Outcome:
        """Signal and flow where the iteration stopped."""
        with np.errstate(all="ignore"):
            signal = first_signal(self.instance, self.live, self.system)
            self.box = LossBox(self.instance).bounds(self._objective(signal))
            lengths = self.radius * np.sqrt(dot(rows := self._rows(signal), rows))
            mu = first_mu(self.instance, signal, lengths, self.absolute, self.walls)
            entry = tuple(np.zeros((len(term.place), 1)) for term in self.absolute)
            force = tuple(mu / wall.room(signal) for wall in self.walls)
            point = self._at(signal, self._no_flow, entry, force)
            return self._iterate(point, mu)

    @property
    def _no_flow(self) -> Array:
        return np.zeros((len(self.live), self.instance.x.shape[1]))

    @property
    def _cones(self) -> int:
        rows = len(self.live) if self.has_rows else 0
        places = [one.place for one in self.absolute] + [one.place for one in self.walls]
        return rows + sum(map(len, places))

    def _iterate(self, point: _Point, mu: float) -> Outcome:
        best, steps, interrupted = point, 0, False
        limit = min(self.stop.last_step, STEP_LIMIT)
        with GapProgress(self.stop.rtol, self.stop.callback) as progress:
            try:
                while steps < limit and point.gap > GOAL * self.stop.rtol * point.objective:
                    mu = max(mu, LEAST_MU * point.slack / max(self._cones, 1), TINY)
                    point, step, centring = self._step(point, mu)
                    mu *= 1 - step * (1 - centring)
                    steps += 1
                    if not np.isfinite(point.objective) or step < TINIEST_STEP:
                        break
                    best = point if point.gap <= best.gap else best
                    progress.show(steps, point.gap / max(point.objective, TINY))
            except SingularSystemError:
                pass  # the best point so far is an answer; its certificate says how good
            except KeyboardInterrupt:
                interrupted = True
        return replace(self._finished(best, steps), interrupted=interrupted)

    def _step(self, point: _Point, mu: float) -> tuple[_Point, float, float]:
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
        reach = min(1.0, self._longest(point, cones, entries, affine))
        centring = min(max((1 - reach) ** 3, 1e-8), 1.0)
        move = self._direction(point, cones, entries, centring * mu, affine)
        step = min(1.0, TO_THE_WALL * self._longest(point, cones, entries, move))
        largest = float(np.abs(move.signal).max(initial=0.0))
        step = min(step, self.terms.loss.longest_change / max(largest, TINY))
        moved = self._at(
            point.signal + step * move.signal,
            point.flow + step * move.flow,
            tuple(f + step * m.flow for f, m in zip(point.entry_flow, move.entries, strict=True)),
            tuple(f + step * m for f, m in zip(point.force, move.force, strict=True)),
        )
        return moved, step, centring

    def _factorise(self, point: _Point, cones: Cones | None, entries: list[AbsoluteStep]) -> None:
        loss, instance = self.terms.loss, self.instance
        weight = instance.data_weight * loss.smooth_curvature(point.signal, instance.x)
        diagonal = weight.ravel()
        for one in entries:
            diagonal[one.term.place] += one.curvature
        for wall, force in zip(self.walls, point.force, strict=True):
            diagonal[wall.place] += force / wall.room(point.signal)
        channels = instance.x.shape[1]
        curvature = np.zeros((len(self.live), channels, channels))
        if cones is not None:
            curvature += cones.curvature()
        curvature += self.quadratic[:, None, None] * np.eye(channels)
        if instance.channel_strength is not None:
            a = instance.channel_strength
            curvature *= a[:, None] * a[None, :]
        self.system.factorise(diagonal.reshape(weight.shape), curvature)

    def _direction(
        self,
        point: _Point,
        cones: Cones | None,
        entries: list[AbsoluteStep],
        target: float,
        affine: _Direction | None,
    ) -> _Direction:
        """Newton's direction towards complementarity `target`; corrected after an affine one."""
        right = -point.residual
        first = shift = None
        if cones is not None:
            q = (-cones.lam0, -cones.lam1)
            if affine is not None and affine.rows is not None:
                q = cones.corrected(target, affine.rows)
            first, rest = cones.scaled(*q)
            shift = cones.curved(rest)
            right = right + self.adjoint @ (shift * self.instance.channel_factor)
        right, shifts = right.ravel().copy(), []
        for k, one in enumerate(entries):
            q = (-one.cones.lam0, -one.cones.lam1)
            if affine is not None:
                q = one.cones.corrected(target, affine.entries[k])
            shifts.append(one.shift(q))
            right[one.term.place] += shifts[-1][0]
        constant = []
        for k, wall in enumerate(self.walls):
            room, force = wall.room(point.signal), point.force[k]
            aim = np.full_like(room, target)
            if affine is not None:
                aim -= wall.sign * affine.signal.ravel()[wall.place] * affine.force[k]
            constant.append(wall.force(room, force, aim))
            right[wall.place] += wall.sign * constant[-1]
        change = self.system.solve(right)
        signal = change.reshape(point.signal.shape)
        rows, flow = None, np.zeros_like(point.flow)
        if cones is not None and shift is not None and first is not None:
            difference = self._rows(signal)
            flow = cones.curved(difference) - shift
            rows = Move(signal, difference, flow, cones.slack_change(first, flow))
        moves = [one.move(change, *sent) for one, sent in zip(entries, shifts, strict=True)]
        forces = []
        for k, wall in enumerate(self.walls):
            stiff = point.force[k] / wall.room(point.signal)
            forces.append(constant[k] - stiff * wall.sign * change[wall.place])
        return _Direction(signal, flow, rows, tuple(moves), tuple(forces))

    def _longest(
        self, point: _Point, cones: Cones | None, entries: list[AbsoluteStep], move: _Direction
    ) -> float:
        """How far the direction leads before a flow, a force or a value leaves its range."""
        steps = [] if cones is None else [cones.longest_step(move.flow)]
        for one, own in zip(entries, move.entries, strict=True):
            steps.append(one.cones.longest_step(own.flow))
        for wall, force, change in zip(self.walls, point.force, move.force, strict=True):
            along = wall.sign * move.signal.ravel()[wall.place]
            steps.append(wall.longest_step(wall.room(point.signal), along))
            steps.append(wall.longest_step(force, change))
        return min(steps, default=1.0)

    def _rows(self, signal: Array) -> Array:
        return np.asarray(self.operator @ signal) * self.instance.channel_factor

    def _whole_flow(self, flow: Array, difference: Array) -> Array:
        """V of the live rows, with what lambda2 adds."""
        whole = flow + self.quadratic[:, None] * difference
        return np.asarray(whole * self.instance.channel_factor)

    def _at(
        self, signal: Array, flow: Array, entry: tuple[Array, ...], force: tuple[Array, ...]
    ) -> _Point:
        instance, terms = self.instance, self.terms
        difference = self._rows(signal)
        divergence = self.adjoint @ self._whole_flow(flow, difference)
        slope = instance.data_weight * terms.loss.smooth_slope(signal, instance.x)
        residual = (slope + divergence).ravel()
        slack = 0.0
        for term, own in zip(self.absolute, entry, strict=True):
            residual[term.place] += own[:, 0]
            slack += term.slack(signal, own)
        for wall, own in zip(self.walls, force, strict=True):
            residual[wall.place] -= wall.sign * own
            slack += float((wall.room(signal) * own).sum())
        length = np.sqrt(dot(difference, difference))
        row_gap = float((self.radius * length - dot(difference, flow)).sum())
        slack += row_gap if self.has_rows else 0.0
        assert self.box is not None
        node_gap, _ = terms.gap(
            instance.data_weight,
            instance.x,
            (signal, -divergence),
            self.box,
            np.zeros_like(signal),
        )
        gap = row_gap + node_gap
        gap = gap if gap == gap else np.inf
        objective = self._objective(signal)
        return _Point(
            signal,
            flow,
            entry,
            force,
            difference,
            residual.reshape(signal.shape),
            objective,
            gap,
            slack,
        )

    def _objective(self, signal: Array) -> float:
        rows, instance = self._rows(signal), self.instance
        size = np.sqrt(dot(rows, rows))
        penalty = float((self.radius * size + self.quadratic / 2 * size**2).sum())
        return penalty + self.terms.value(instance.data_weight, instance.x, signal)

    def _finished(self, point: _Point, steps: int) -> Outcome:
        flow = np.zeros((self.instance.num_rows, point.signal.shape[1]))
        flow[self.live] = self._whole_flow(point.flow, point.difference)
        return Outcome(self._snapped(point, flow), flow, steps)

    def _snapped(self, point: _Point, flow: Array) -> Array:
        """The signal with entries on their corners and pieces of one value, if that is no worse."""
        entries = zip(self.absolute, point.entry_flow, strict=True)
        bounds = zip(self.walls, point.force, strict=True)
        tidy = snapped(self.instance, point.signal, flow, entries, bounds)
        box = LossBox(self.instance).bounds(point.objective)
        raw = measure(self.instance, point.signal, flow, box)
        better = measure(self.instance, tidy, flow, box)
        goal = max(raw.gap, GOAL * self.stop.rtol * raw.objective)
        return tidy if better.gap <= goal else point.signal
