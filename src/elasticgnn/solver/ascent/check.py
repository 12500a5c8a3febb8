"""A check of a running ascent on the compiled loops: the best signal known for its flow."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.ascent.coarse import contract, solve_coarse
from elasticgnn.solver.ascent.native import Flux, Pieces, Scaled, measure_scaled
from elasticgnn.solver.certificate.measure import Measure
from elasticgnn.solver.problem.geometry import Array
from elasticgnn.solver.problem.node_terms import Bounds

REDUCE_WITHIN = 30.0  # times the wanted gap: from here on the contracted problem is worth it
REDUCE_SHARE = 0.05  # pieces per node up to which it is


@dataclass(frozen=True)
class Check:
    """One check of a running ascent."""

    raw: Array  # the signal of the flow itself
    signal: Array  # the best signal made from it
    flow: Array  # lies in its ball
    measure: Measure  # of signal and flow


@dataclass(frozen=True)
class Data:
    """What the ascent works with where values are missing; the problem's own data elsewhere."""

    stiff: Array  # (n,)
    center: Array  # (n, d)
    missing: NDArray[np.intp]
    bounds: Bounds | None  # of the signal at the missing nodes


class Checker:
    """Looks at the flows of one ascent, one after the other."""

    def __init__(self, scaled: Scaled, data: Data, rtol: float) -> None:
        self.scaled, self.data, self.rtol = scaled, data, rtol
        self.averages_lead = False  # once they are far better, the raw signal is not measured
        self.last_gap = np.inf

    def check(self, flow: NDArray[np.floating]) -> Check:
        """The better of the flow's own signal and its averages over pieces.

        Inside a piece the ascent leaves ripples that cost in first order; averaging removes them
        and leaves an error of second order.
        """
        projected = self.scaled.projected(flow)
        raw, flux = self.scaled.signal_of(projected, self.data.center, self.data.stiff)
        if self.scaled.lambda1 == 0 or not projected.size:
            return Check(raw, raw, projected, self._measure(raw, flux))
        pieces = self.scaled.pieces(flux)
        signal = self.scaled.averaged(raw, self.data.stiff, pieces)
        best = Check(raw, signal, projected, self._measure(signal, flux))
        if not self.averages_lead or best.measure.gap >= self.last_gap:
            plain = Check(raw, raw, projected, self._measure(raw, flux))
            self.averages_lead = best.measure.gap < plain.measure.gap / 2
            best = min(plain, best, key=lambda check: check.measure.gap)
        self.last_gap = best.measure.gap
        near = best.measure.gap <= REDUCE_WITHIN * self.rtol * best.measure.objective
        few = pieces.count <= REDUCE_SHARE * len(pieces.label)
        # without interaction of channels the averages are the best signal already
        useful = near and few and not self.scaled.entrywise and not best.measure.is_final(self.rtol)
        return self._reduced(pieces, flux, best) if useful else best

    def _reduced(self, pieces: Pieces, flux: Flux, best: Check) -> Check:
        """The check with the best signal that has the present pieces, if that is better."""
        coarse = contract(self.scaled, (self.data.stiff, self.data.center), pieces, flux.flow)
        rows = solve_coarse(coarse, 0.1 * self.rtol * best.measure.objective)
        flat = np.ascontiguousarray(rows[pieces.label[:, 0]])
        exact = replace(best, signal=flat, measure=self._measure(flat, flux))
        return min(best, exact, key=lambda check: check.measure.gap)

    def _measure(self, signal: Array, flux: Flux) -> Measure:
        return measure_scaled(self.scaled, self.data.missing, (signal, flux), self.data.bounds)
