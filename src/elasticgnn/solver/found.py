"""What a method found, certified as it is returned."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from elasticgnn.solver.ascent import native
from elasticgnn.solver.ascent.backends import PlainCertificate
from elasticgnn.solver.certificate.measure import Measure, Verdict, project_flow
from elasticgnn.solver.certificate.missing import order_zero_bounds
from elasticgnn.solver.certificate.products import ExactProducts, Products
from elasticgnn.solver.losses import Squared
from elasticgnn.solver.methods.choice import Choice
from elasticgnn.solver.methods.outcome import Outcome
from elasticgnn.solver.pieces.flatten import component_means
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.units import Prepared
from elasticgnn.solver.solution import Solution


@dataclass(frozen=True)
class Found:
    """What a method found, with its certificate; both in the solver's units."""

    prepared: Prepared
    outcome: Outcome
    measure: Measure
    rtol: float
    choice: Choice
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """What the certificate says."""
        return self.measure.verdict(self.rtol)

    @cached_property
    def optimum(self) -> tuple[Array, Array]:
        """Signal (n, d) and flow (r, d) in the user's units."""
        units = self.prepared.units
        signal = self.prepared.within_bounds(units.signal_out(self.outcome.signal))
        return signal, units.flow_out(self.outcome.flow)

    def solution(self, value: Tensor) -> Solution:
        """The record for users; `value` is the signal in the shape of x."""
        units, instance = self.prepared.units, self.prepared.original
        weight = instance.row_weight[:, None]
        dual = self.optimum[1] / (np.where(weight > 0, weight, np.inf) * instance.channel_factor)
        strong = instance.terms is None or isinstance(instance.terms.loss, Squared)
        if instance.unobserved.any():
            empty = torch.from_numpy(instance.unobserved).reshape(value.shape)
            value = torch.where(empty, torch.nan, value)
        return Solution(
            value=value,
            dual=torch.from_numpy(dual).reshape(len(dual), *value.shape[1:]),
            objective=units.value_out(self.measure.objective),
            gap=units.value_out(self.measure.gap),
            relative_gap=self.measure.relative_gap,
            distance_bound=units.root_out(2 * self.measure.gap) if strong else math.inf,
            verdict=self.verdict,
            method=self.choice.name,
            reason=self.choice.reason,
            steps=self.outcome.steps,
            seconds=self.seconds,
            graph=instance.graph,
            lambda1=instance.lambda1,
            norm=instance.norm,
            order=instance.order,
            boundary_rule=instance.geometry.boundary,
            loss=Squared() if instance.terms is None else instance.terms.loss,
            interrupted=self.outcome.interrupted,
            problem=instance,
        )


def with_verdict(prepared: Prepared, outcome: Outcome, rtol: float, choice: Choice) -> Found:
    """The outcome as float64 can hold it in the user's units, with its certificate."""
    units, instance = prepared.units, prepared.instance
    outcome = _finite(instance, outcome)
    signal = prepared.as_held(outcome.signal)
    # the gap's formulas hold inside the ball only: nothing that a method hands over is believed
    outcome = replace(outcome, flow=project_flow(instance, outcome.flow))
    rounded = replace(outcome, signal=signal)
    products = ExactProducts(instance) if choice.name == "precise" else None
    measure = certify_outcome(instance, rounded, products)
    if measure.verdict(rtol) is not Verdict.CERTIFIED and outcome.settle is not None:
        settled = replace(outcome, signal=prepared.as_held(outcome.settle(units)))
        again = certify_outcome(instance, settled, products)
        if again.gap < measure.gap:
            rounded, measure = settled, again
    if products is not None and not measure.is_final(rtol):
        # what float64 itself rounds is its floor, however exactly the gap is known
        floor = certify_outcome(instance, rounded).rounding
        measure = replace(measure, rounding=max(measure.rounding, floor))
    if not measure.is_final(rtol) and not np.array_equal(signal, outcome.signal):
        exact = certify_outcome(instance, outcome, products)
        if exact.is_final(rtol):  # nothing but the last digits of the answer stands in the way
            measure = replace(measure, rounding=measure.gap)
    return Found(prepared, rounded, measure, rtol, choice)


def _finite(instance: Instance, outcome: Outcome) -> Outcome:
    """The outcome, or a flat signal and no flow where a method's numbers left float64's range."""
    if np.isfinite(outcome.signal).all() and np.isfinite(outcome.flow).all():
        return outcome
    flat = component_means(instance) if instance.terms is None else np.zeros_like(outcome.signal)
    return replace(outcome, signal=flat, flow=np.zeros_like(outcome.flow))


def certify_outcome(
    instance: Instance, outcome: Outcome, products: Products | None = None
) -> Measure:
    """The certificate of the very numbers that are returned."""
    if products is not None or not native.is_available(instance):
        return PlainCertificate(instance, products)(outcome.signal, outcome.flow)
    bounds = order_zero_bounds(instance) if len(instance.missing) else None
    scaled = native.build_scaled(instance)
    signal = np.ascontiguousarray(outcome.signal * instance.scale[:, None])
    flow = np.ascontiguousarray(outcome.flow)
    _, flux = scaled.signal_of(flow, scaled.center, scaled.stiff)
    return native.measure_scaled(scaled, instance.missing, (signal, flux), bounds)
