"""Boxes that hold an optimum of a problem with any loss, bounds and lasso.

Every term of the objective is at least 0, so at an optimum each is at most the objective P of any
signal. That bounds the loss of an entry, hence its value unless the loss falls for ever in one
direction (a label of 0 or 1, a count of 0, a missing value).

Squared, Huber and quantile losses, order 0: clipping s F to the range of the data, of 0 if there
is a lasso and of the bounds lowers every term, so an optimum lies in that range. Orders 1 and 2:
as for missing values (solver/certificate/missing.py), with the interval of each entry's loss.

Logistic and Poisson losses: the penalty bounds how much s F varies within a component, at order
0 along a path, at orders 1 and 2 through effective resistances, of which none exceeds
(n - 1) / (least weight). With one entry bounded from above and one from below all are bounded.
"""

import numpy as np

from elasticgnn.solver.certificate.missing import SignalBox, edge_path_bound, laplacian_bound
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.node_terms import Bounds

WIDER = 1e-6  # for the rounding of the objective and of the intervals themselves


class LossBox:
    """Boxes of F, for any loss, that hold an optimum."""

    def __init__(self, instance: Instance) -> None:
        assert instance.terms is not None
        self.instance, self.terms = instance, instance.terms
        self.ranged = self.terms.loss.power > 0
        self.free = instance.geometry.boundary == "free"
        inner = instance.order > 0 and (self.free or self.ranged)
        self.signal_box = SignalBox(instance) if inner and len(instance.missing) else None

    def bounds(self, objective: float) -> Bounds:
        """The box, given the objective of any signal."""
        with np.errstate(all="ignore"):
            low, high = self._by_terms(objective * (1 + WIDER))
            instance = self.instance
            if self.ranged and instance.order == 0:
                wide = self._range_of_data()
            elif self.signal_box is not None:
                ends = np.maximum(np.abs(low), np.abs(high))
                wide = self.signal_box.bounds(objective * (1 + WIDER), ends)
                # it speaks of missing values only
                wide = Bounds(
                    np.where(instance.is_missing, wide.low, -np.inf),
                    np.where(instance.is_missing, wide.high, np.inf),
                )
            elif not self.ranged and (instance.order == 0 or not self.free):
                wide = self._by_variation(low, high, objective * (1 + WIDER))
            else:
                wide = Bounds(np.full_like(low, -np.inf), np.full_like(high, np.inf))
        return Bounds(np.fmax(low, wide.low), np.fmin(high, wide.high))

    def _by_terms(self, objective: float) -> tuple[Array, Array]:
        """What an entry's own terms leave it; infinite where they fall for ever."""
        instance, terms = self.instance, self.terms
        level = np.divide(
            objective,
            instance.data_weight,
            out=np.full_like(instance.x, np.inf),
            where=~instance.is_missing,
        )
        low, high = terms.loss.sublevel(instance.x, level)
        missing = instance.is_missing
        low, high = np.where(missing, -np.inf, low), np.where(missing, np.inf, high)
        slack = WIDER * (1 + np.abs(instance.x))
        low, high = low - slack, high + slack
        if terms.sparsity > 0:
            most = objective / terms.sparsity
            low, high = np.fmax(low, -most), np.fmin(high, most)
        return np.fmax(low, terms.lower), np.fmin(high, terms.upper)

    def _range_of_data(self) -> Bounds:
        """The range of s X per channel, with 0 and the bounds where they matter, as F."""
        instance, terms, scale = self.instance, self.terms, self.instance.scale[:, None]
        seen = ~instance.is_missing
        lows, highs = [np.where(seen, scale * instance.x, np.inf)], []
        highs.append(np.where(seen, scale * instance.x, -np.inf))
        for ends in (terms.lower, terms.upper):
            finite = np.isfinite(ends)
            lows.append(np.where(finite, scale * ends, np.inf))
            highs.append(np.where(finite, scale * ends, -np.inf))
        low = np.min([one.min(0) for one in lows], 0)
        high = np.max([one.max(0) for one in highs], 0)
        if terms.sparsity > 0:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        slack = 1e-12 * np.maximum(np.abs(low), np.abs(high))
        return Bounds((low - slack) / scale, (high + slack) / scale)

    def _by_variation(self, low: Array, high: Array, objective: float) -> Bounds:
        """The entries that are bounded, and how far any other can be from them."""
        instance, scale = self.instance, self.instance.scale[:, None]
        low, high = scale * low, scale * high
        labels = instance.geometry.component
        count, channels = int(labels.max(initial=-1)) + 1, low.shape[1]
        least, most = np.full((count, channels), np.inf), np.full((count, channels), -np.inf)
        np.minimum.at(least, labels, np.where(np.isfinite(low), low, np.inf))
        np.maximum.at(most, labels, np.where(np.isfinite(high), high, -np.inf))
        # without any bounded entry nothing is known
        least = np.where(np.isfinite(least), least, -np.inf)
        most = np.where(np.isfinite(most), most, np.inf)
        spread = self._variation(objective)
        return Bounds((least[labels] - spread) / scale, (most[labels] + spread) / scale)

    def _variation(self, objective: float) -> float:
        """The most that s F differs within a component."""
        instance, nodes = self.instance, len(self.instance.x)
        weight = instance.row_weight[instance.row_weight > 0]
        if not len(weight):
            return 0.0 if instance.order == 0 else float("inf")
        if instance.order == 0:
            return edge_path_bound(instance, objective)
        edge = instance.graph.weight.detach().double().cpu().numpy()
        source = nodes * laplacian_bound(instance, objective) / float(instance.scale.min())
        return source * nodes / float(edge[edge > 0].min(initial=np.inf))
