"""What the ascent runs on: the compiled loops in the scaled signal, or numpy for any order.

Both hide where their signal lives (U or F) behind the same few methods; see `Backend`.
"""

from typing import Protocol

import numpy as np

from elasticgnn.solver import native
from elasticgnn.solver.check import Checker, Data, Look
from elasticgnn.solver.instance import Array, Instance
from elasticgnn.solver.measure import Bounds, Measure, keep_in_ball, measure
from elasticgnn.solver.missing import TrendGaps, order_zero_bounds
from elasticgnn.solver.reference import PlainAscent

FLOAT32_LIMIT = 1e-8  # relative gap that float32 flows still reach
PULL = 0.1  # stiffness, as a share of the mean data weight, that stands in for missing data


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
        self.data = Data(
            weight / instance.scale**2,
            np.ascontiguousarray(data * instance.scale[:, None]),
            instance.missing,
            order_zero_bounds(instance) if len(instance.missing) else None,
        )
        self._start(flow, np.float64 if rtol < FLOAT32_LIMIT else np.float32)

    def _start(self, flow: Array, dtype: type) -> None:
        self.checker = Checker(self.scaled, self.data, self.rtol)
        self.ascent = native.NativeAscent(self.scaled, self.data.stiff, self.data.center, dtype)
        self.ascent.load(flow)

    def advance(self, steps: int) -> None:
        self.ascent.advance(steps)

    def look(self) -> Look:
        return self.checker.look(self.ascent.flow)

    def follow(self, signal: Array) -> None:
        self.ascent.recenter(self.instance.missing, signal[self.instance.missing])

    @property
    def is_coarse(self) -> bool:
        return self.ascent.dtype is np.float32

    def sharpen(self) -> None:
        self._start(self.ascent.flow.astype(np.float64), np.float64)

    def export(self, signal: Array) -> Array:
        return np.asarray(signal / self.instance.scale[:, None])
