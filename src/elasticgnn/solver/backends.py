"""What the ascent runs on: the compiled loops in the scaled signal, or numpy for any order.

Both hide where their signal lives (U or F) behind the same few methods; see `Backend`.
"""

from typing import Protocol

import numpy as np

from elasticgnn.solver import native
from elasticgnn.solver.coarse import contract, solve_coarse
from elasticgnn.solver.instance import Array, Instance
from elasticgnn.solver.measure import Bounds, Measure, keep_in_ball, measure
from elasticgnn.solver.missing import TrendGaps, order_zero_bounds
from elasticgnn.solver.reference import PlainAscent

LADDER = 10.0**0.5  # ratio of neighbouring joining distances
REDUCE_WITHIN = 30.0  # times the wanted gap: from here on the contracted problem is worth it
REDUCE_SHARE = 0.05  # pieces per node up to which it is
FLOAT32_LIMIT = 1e-8  # relative gap that float32 flows still reach
PULL = 0.1  # stiffness, as a share of the mean data weight, that stands in for missing data


class Backend(Protocol):
    """An ascent in progress."""

    def advance(self, steps: int) -> None:
        """Run `steps` accelerated steps."""

    def pair(self) -> tuple[Array, Array]:
        """The present signal and its flow, which lies in its ball."""

    def improved(self, signal: Array, flow: Array) -> tuple[Array, Measure]:
        """The signal, or a better one made from it, with the certificate of the pair."""

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

    def pair(self) -> tuple[Array, Array]:
        flow = keep_in_ball(self.instance, self.ascent.flow)
        return self.ascent.primal(flow), self.repaired(flow)

    def repaired(self, flow: Array) -> Array:
        """The flow, without divergence at missing nodes where the certificate needs that."""
        return flow if self.gaps is None else self.gaps.repair(flow)

    def improved(self, signal: Array, flow: Array) -> tuple[Array, Measure]:
        return signal, measure(self.instance, signal, flow, self._bounds(signal, flow))

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
        self.reach = 0.1 * float(self.center.std() if self.center.size else 0.0) or 1.0
        self.averages_lead = False  # once they are far better, the raw signal is not measured
        self.turn = 1 / LADDER  # try a smaller joining distance next
        self._start(flow, np.float64 if rtol < FLOAT32_LIMIT else np.float32)

    def _start(self, flow: Array, dtype: type) -> None:
        self.ascent = native.NativeAscent(self.scaled, self.stiff, self.center, dtype)
        self.ascent.load(flow)

    def advance(self, steps: int) -> None:
        self.ascent.advance(steps)

    def pair(self) -> tuple[Array, Array]:
        flow = self.scaled.kept(self.ascent.flow)
        return self.scaled.signal_of(flow, self.center, self.stiff), flow

    def improved(self, signal: Array, flow: Array) -> tuple[Array, Measure]:
        """The best of the signal and its averages over pieces.

        Inside a piece the ascent leaves ripples that cost in first order; averaging removes them
        and leaves an error of second order. The joining distance follows its last best value.
        """
        if self.scaled.lambda1 == 0 or not self.scaled.mesh.num_edges:
            return signal, self._measure(signal, flow)
        here = self._averaged(signal, flow, self.reach)
        there = self._averaged(signal, flow, self.reach * self.turn)
        if there[1].gap < here[1].gap:
            self.reach *= self.turn
        else:
            self.turn = 1 / self.turn
        best = min(here, there, key=lambda pair: pair[1].gap)
        if not self.averages_lead:
            raw = signal, self._measure(signal, flow)
            self.averages_lead = best[1].gap < raw[1].gap / 2
            best = min(raw, best, key=lambda pair: pair[1].gap)
        near = best[1].gap <= REDUCE_WITHIN * self.rtol * best[1].objective
        return self._reduced(signal, flow, best) if near else best

    def _averaged(self, signal: Array, flow: Array, reach: float) -> tuple[Array, Measure]:
        label, count = self.scaled.pieces(signal, reach)
        flat = self.scaled.averaged(signal, self.stiff, label, count)
        return flat, self._measure(flat, flow)

    def _reduced(
        self, signal: Array, flow: Array, best: tuple[Array, Measure]
    ) -> tuple[Array, Measure]:
        """The best signal with the present pieces, where there are few of them."""
        label, count = self.scaled.pieces(signal, self.reach / LADDER)
        if best[1].reaches(self.rtol) or count > REDUCE_SHARE * len(label):
            return best
        coarse = contract(self.scaled, (self.stiff, self.center), label, count, flow)
        rows = solve_coarse(coarse, 0.1 * self.rtol * best[1].objective)
        flat = np.ascontiguousarray(rows[label])
        return min(best, (flat, self._measure(flat, flow)), key=lambda pair: pair[1].gap)

    def _measure(self, signal: Array, flow: Array) -> Measure:
        return native.measure_scaled(
            self.scaled, self.instance.missing, (signal, flow), self.bounds
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
