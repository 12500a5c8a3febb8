"""What the ascent runs on: the compiled loops in the scaled signal, or numpy for any order.

Both hide where their signal lives (U or F) behind the same few methods; see `Backend`.
"""

from typing import Protocol

import numpy as np

from elasticgnn.solver.ascent import native
from elasticgnn.solver.ascent.check import Check, Checker, Data
from elasticgnn.solver.ascent.reference import PlainAscent
from elasticgnn.solver.certificate.boxes import LossBox
from elasticgnn.solver.certificate.measure import Measure, measure, project_flow
from elasticgnn.solver.certificate.missing import FlowRepair, SignalBox, order_zero_bounds
from elasticgnn.solver.certificate.products import Products
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.node_terms import Bounds

FLOAT32_LIMIT = 1e-8  # relative gap that float32 flows still reach
PROXIMAL_WEIGHT = 0.1  # of the mean data weight: what a missing value is held with


class Backend(Protocol):
    """An ascent in progress."""

    def advance(self, steps: int) -> None:
        """Run `steps` accelerated steps."""

    def check(self) -> Check:
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
    """Data weights and data, (n, d) each, in which missing values are held near `guess`.

    The proximal point method: minimise with the proximal term, move its centre, repeat. It vanishes
    at the fixed point.
    """
    if not len(instance.missing):
        return instance.data_weight, instance.x
    missing, weight = instance.is_missing, instance.data_weight
    proximal = PROXIMAL_WEIGHT * weight[~missing].mean()
    return np.where(missing, proximal, weight), np.where(missing, guess, instance.x)


class PlainBackend:
    """numpy, float64, any order: signal is F."""

    def __init__(self, instance: Instance, flow: Array, guess: Array) -> None:
        self.instance = instance
        self.ascent = PlainAscent(instance, *working_data(instance, guess), flow)
        self.repair = FlowRepair(instance)
        self.certificate = PlainCertificate(instance)

    def advance(self, steps: int) -> None:
        """Takes so many steps."""
        self.ascent.advance(steps)

    def check(self) -> Check:
        """Signal, flow and certificate of where the ascent stands."""
        flow = project_flow(self.instance, self.ascent.flow)
        signal, flow = self.ascent.primal(flow), self.repair(flow)
        return Check(signal, signal, flow, self.certificate(signal, flow))

    def follow(self, signal: Array) -> None:
        """Puts the missing values where `signal` has them."""
        self.ascent.recenter(signal)

    @property
    def is_coarse(self) -> bool:
        """False: it computes in float64 throughout."""
        return False

    def sharpen(self) -> None:
        """Nothing: float64 is the highest."""

    def export(self, signal: Array) -> Array:
        """The signal as users see it."""
        return signal


class PlainCertificate:
    """The measure of pairs (F, V) of one instance, of any order and with any missing values."""

    def __init__(self, instance: Instance, products: Products | None = None) -> None:
        self.instance, self.products = instance, products
        self.box: SignalBox | LossBox | None = None
        if instance.terms is not None:
            self.box = LossBox(instance)
        elif len(instance.missing):
            self.box = SignalBox(instance)

    def __call__(self, signal: Array, flow: Array) -> Measure:
        pair, products = (signal, flow), self.products
        if self.box is None:
            return measure(self.instance, *pair, products=products)
        nothing = Bounds(signal, signal)
        objective = measure(self.instance, *pair, nothing, products).objective
        return measure(self.instance, *pair, self.box.bounds(objective), products)


class NativeBackend:
    """The compiled loops, order 0, float32 and later float64: signal is U = s F."""

    def __init__(self, instance: Instance, flow: Array, guess: Array, *, rtol: float) -> None:
        self.instance, self.rtol = instance, rtol
        self.scaled = native.build_scaled(instance)
        weight, data = working_data(instance, guess)
        self.data = Data(
            weight[:, 0] / instance.scale**2,
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
        """Takes so many steps."""
        self.ascent.advance(steps)

    def check(self) -> Check:
        """Signal, flow and certificate of where the ascent stands."""
        return self.checker.check(self.ascent.flow)

    def follow(self, signal: Array) -> None:
        """Puts the missing values where `signal` has them."""
        self.ascent.recenter(self.instance.missing, signal[self.instance.missing])

    @property
    def is_coarse(self) -> bool:
        """Whether it computes in float32 still."""
        return self.ascent.dtype is np.float32

    def sharpen(self) -> None:
        """Goes on in float64 from where it stands."""
        self._start(self.ascent.flow.astype(np.float64), np.float64)

    def export(self, signal: Array) -> Array:
        """The signal as users see it, without the scale of the nodes."""
        return np.asarray(signal / self.instance.scale[:, None])
