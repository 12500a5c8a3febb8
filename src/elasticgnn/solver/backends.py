"""What the ascent runs on: the compiled loops in the scaled signal, or numpy for any order.

Both hide where their signal lives (U or F) behind the same few methods; see `Backend`.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from elasticgnn.solver import native
from elasticgnn.solver.coarse import contract, solve_coarse
from elasticgnn.solver.instance import Array, Instance
from elasticgnn.solver.measure import Bounds, Measure, keep_in_ball, measure
from elasticgnn.solver.missing import TrendGaps, order_zero_bounds
from elasticgnn.solver.native import Flux, Pieces
from elasticgnn.solver.reference import PlainAscent

REDUCE_WITHIN = 30.0  # times the wanted gap: from here on the contracted problem is worth it
REDUCE_SHARE = 0.05  # pieces per node up to which it is
FLOAT32_LIMIT = 1e-8  # relative gap that float32 flows still reach
PULL = 0.1  # stiffness, as a share of the mean data weight, that stands in for missing data


@dataclass(frozen=True)
class Look:
    """One check of a running ascent."""

    raw: Array  # the signal of the flow itself
    signal: Array  # the best signal made from it
    flow: Array  # lies in its ball
    measure: Measure  # of signal and flow


class Backend(Protocol):
    """An ascent in progress."""

    def advance(self, steps: int) -> None:
        """Run `steps` accelerated steps."""

    def look(self) -> Look:
        """The present flow, the best signal known for it, and their certificate."""

    def follow(self, signal: Array) -> None:
        """Let the nodes without data drift to where the signal is now."""

    @property
    def is_coarse(self) -> bool:
        """Whether there is a higher precision to change to."""

    def sharpen(self) -> None:
        """Change to the highest precision."""

    def export(self, signal: Array) -> Array:
        """The signal as F."""


def working_data(instance: Instance, guess: Array) -> tuple[Array, Array]:
    """Data weights (n,) and data (n, d) in which missing nodes are pulled towards `guess`.

    The proximal point method: minimise with the pull, move the pull, repeat. It vanishes at the
    fixed point.
    """
    weight, data = instance.data_weight.copy(), instance.x.copy()
    if len(instance.missing):
        weight[instance.missing] = PULL * weight[weight > 0].mean()
        data[instance.missing] = guess[instance.missing]
    return weight, data


class PlainBackend:
    """numpy, float64, any order: signal is F."""

    def __init__(self, instance: Instance, flow: Array, guess: Array) -> None:
        self.instance = instance
        self.ascent = PlainAscent(instance, *working_data(instance, guess), flow)
        has_gaps = len(instance.missing) > 0 and instance.order > 0
        self.gaps = TrendGaps(instance) if has_gaps else None

    def advance(self, steps: int) -> None:
        self.ascent.advance(steps)

    def look(self) -> Look:
        flow = keep_in_ball(self.instance, self.ascent.flow)
        signal, flow = self.ascent.primal(flow), self.repaired(flow)
        return Look(signal, signal, flow, self.measure(signal, flow))

    def repaired(self, flow: Array) -> Array:
        """The flow, without divergence at missing nodes where the certificate needs that."""
        return flow if self.gaps is None else self.gaps.repair(flow)

    def measure(self, signal: Array, flow: Array) -> Measure:
        """The certificate of any pair whose flow is `repaired`."""
        return measure(self.instance, signal, flow, self._bounds(signal, flow))

    def _bounds(self, signal: Array, flow: Array) -> Bounds | None:
        instance = self.instance
        if not len(instance.missing):
            return None
        if self.gaps is None:
            box = order_zero_bounds(instance)
            scale = instance.scale[instance.missing, None]
            return Bounds(box.low / scale, box.high / scale)
        nothing = Bounds(signal[instance.missing], signal[instance.missing])
        if instance.lambda1 == instance.lambda2 == 0:
            return nothing  # no penalty, no flow: missing values add nothing
        return self.gaps.bounds(measure(instance, signal, flow, nothing).objective)

    def follow(self, signal: Array) -> None:
        self.ascent.recenter(signal[self.instance.missing])

    @property
    def is_coarse(self) -> bool:
        return False

    def sharpen(self) -> None:
        """Nothing: float64 is the highest."""

    def export(self, signal: Array) -> Array:
        return signal


class NativeBackend:
    """The compiled loops, order 0, float32 and later float64: signal is U = s F."""

    def __init__(self, instance: Instance, flow: Array, guess: Array, *, rtol: float) -> None:
        self.instance, self.rtol = instance, rtol
        self.scaled = native.build_scaled(instance)
        weight, data = working_data(instance, guess)
        self.stiff = weight / instance.scale**2
        self.center = np.ascontiguousarray(data * instance.scale[:, None])
        self.bounds = order_zero_bounds(instance) if len(instance.missing) else None
        self.averages_lead = False  # once they are far better, the raw signal is not measured
        self.last_gap = np.inf
        self._start(flow, np.float64 if rtol < FLOAT32_LIMIT else np.float32)

    def _start(self, flow: Array, dtype: type) -> None:
        self.ascent = native.NativeAscent(self.scaled, self.stiff, self.center, dtype)
        self.ascent.load(flow)

    def advance(self, steps: int) -> None:
        self.ascent.advance(steps)

    def look(self) -> Look:
        """The better of the flow's own signal and its averages over pieces.

        Inside a piece the ascent leaves ripples that cost in first order; averaging removes them
        and leaves an error of second order.
        """
        flow = self.scaled.kept(self.ascent.flow)
        raw, flux = self.scaled.signal_of(flow, self.center, self.stiff)
        if self.scaled.lambda1 == 0 or not flow.size:
            return Look(raw, raw, flow, self._measure(raw, flux))
        pieces = self.scaled.pieces(flux)
        signal = self.scaled.averaged(raw, self.stiff, pieces)
        best = Look(raw, signal, flow, self._measure(signal, flux))
        if not self.averages_lead or best.measure.gap >= self.last_gap:
            plain = Look(raw, raw, flow, self._measure(raw, flux))
            self.averages_lead = best.measure.gap < plain.measure.gap / 2
            best = min(plain, best, key=lambda look: look.measure.gap)
        self.last_gap = best.measure.gap
        near = best.measure.gap <= REDUCE_WITHIN * self.rtol * best.measure.objective
        few = pieces.count <= REDUCE_SHARE * len(pieces.label)
        # without interaction of channels the averages are the best signal already
        useful = near and few and not self.scaled.entrywise and not best.measure.reaches(self.rtol)
        return self._reduced(pieces, flux, best) if useful else best

    def _reduced(self, pieces: Pieces, flux: Flux, best: Look) -> Look:
        """The look with the best signal that has the present pieces, if that is better."""
        coarse = contract(self.scaled, (self.stiff, self.center), pieces, flux.flow)
        rows = solve_coarse(coarse, 0.1 * self.rtol * best.measure.objective)
        flat = np.ascontiguousarray(rows[pieces.label[:, 0]])
        exact = replace(best, signal=flat, measure=self._measure(flat, flux))
        return min(best, exact, key=lambda look: look.measure.gap)

    def _measure(self, signal: Array, flux: Flux) -> Measure:
        return native.measure_scaled(
            self.scaled, self.instance.missing, (signal, flux), self.bounds
        )

    def follow(self, signal: Array) -> None:
        self.ascent.recenter(self.instance.missing, signal[self.instance.missing])

    @property
    def is_coarse(self) -> bool:
        return self.ascent.dtype is np.float32

    def sharpen(self) -> None:
        self.averages_lead = False
        self._start(self.ascent.flow.astype(np.float64), np.float64)

    def export(self, signal: Array) -> Array:
        return np.asarray(signal / self.instance.scale[:, None])
