"""What single entries add to the interior point method: absolute values and bounds.

An absolute value radius |t - offset| is a cone of one entry (cones.py) with a flow w of its
own, |w| < radius. Huber's loss is the envelope of one: the entry's t - offset is then u + w / c.
A bound t > low has a force z > 0 with (t - low) z = mu on the central path.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.interior_point.cones import FARTHEST, Cones, Move, build_cones
from elasticgnn.solver.problem.instance import Array, Instance

Places = NDArray[np.intp]


@dataclass(frozen=True)
class AbsoluteValue:
    """radius |t - offset| at some entries of the signal, softened by `softness` w^2 / 2."""

    place: Places  # into the raveled signal
    radius: Array
    offset: Array
    softness: Array

    def difference(self, signal: Array, flow: Array) -> Array:
        """u (p, 1)."""
        return (signal.ravel()[self.place] - self.offset - self.softness * flow[:, 0])[:, None]

    def slack(self, signal: Array, flow: Array) -> float:
        """Sum of radius |u| - u w: what complementarity leaves."""
        u = self.difference(signal, flow)[:, 0]
        return float((self.radius * np.abs(u) - u * flow[:, 0]).sum())

    def step(self, signal: Array, flow: Array, mu: float) -> "AbsoluteStep":
        """The term scaled at a point."""
        cones = build_cones(self.radius, self.difference(signal, flow), flow, mu)
        curvature = cones.curvature()[:, 0, 0]
        share = 1 / (1 + curvature * self.softness)
        return AbsoluteStep(self, cones, curvature * share, share)


@dataclass(frozen=True)
class AbsoluteStep:
    """An absolute value scaled for one step."""

    term: AbsoluteValue
    cones: Cones
    curvature: Array  # of dw in dt
    share: Array

    def shift(self, q: tuple[Array, Array]) -> tuple[Array, Array]:
        """The right side's share and the first entry of W q."""
        first, rest = self.cones.scaled(*q)
        return self.share * self.cones.curved(rest)[:, 0], first

    def move(self, change: Array, shift: Array, first: Array) -> Move:
        """What a change of the signal (raveled) does to w."""
        flow = (self.curvature * change[self.term.place] - shift)[:, None]
        difference = change[self.term.place][:, None] - self.term.softness[:, None] * flow
        return Move(change, difference, flow, self.cones.slack_change(first, flow))


@dataclass(frozen=True)
class Barrier:
    """A bound on some entries: sign (t - at) > 0."""

    place: Places
    at: Array
    sign: float

    def room(self, signal: Array) -> Array:
        """How far the signal is from the bound."""
        return np.asarray(self.sign * (signal.ravel()[self.place] - self.at))

    def force(self, room: Array, force: Array, target: Array) -> Array:
        """The share of dz that does not depend on dt: sign z is taken from the residual."""
        return np.asarray(target / room - force)

    def longest_step(self, room: Array, change: Array) -> float:
        """The largest a with room + a change >= 0."""
        falling = change < 0
        return float((-room[falling] / change[falling]).min(initial=FARTHEST))


def absolute_values(instance: Instance) -> list[AbsoluteValue]:
    """Those of the loss and of the lasso."""
    terms, weight, x = instance.terms, instance.data_weight.ravel(), instance.x.ravel()
    assert terms is not None
    out = []
    if terms.loss.edge_radius > 0:
        place = np.flatnonzero(weight > 0)
        softness = terms.loss.edge_softness / weight[place]
        out.append(AbsoluteValue(place, terms.loss.edge_radius * weight[place], x[place], softness))
    if terms.sparsity > 0:
        everywhere = np.arange(x.size)
        nothing = np.zeros(x.size)
        out.append(AbsoluteValue(everywhere, nothing + terms.sparsity, nothing, nothing))
    return out


def barriers(instance: Instance) -> list[Barrier]:
    """The finite bounds."""
    assert instance.terms is not None
    out = []
    for ends, sign in ((instance.terms.lower.ravel(), 1.0), (instance.terms.upper.ravel(), -1.0)):
        place = np.flatnonzero(np.isfinite(ends))
        if len(place):
            out.append(Barrier(place, ends[place], sign))
    return out
