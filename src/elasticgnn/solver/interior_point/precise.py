"""The node system C + K' G K in twice the digits of float64.

Its condition is about the square of that of K: with weights over twelve decades, or a strength far
beyond what makes everything flat, float64 loses what the data weigh. Here it is assembled and
factorised within a band of twice the digits (kernels/solver/precise.isa.cpp), which takes some
twenty times as long: for problems that stay uncertified otherwise.
"""

import numpy as np
from numpy.typing import NDArray

from elasticgnn.kernels import native
from elasticgnn.solver.interior_point.cones import Cones
from elasticgnn.solver.linear_algebra.factor import SingularSystemError
from elasticgnn.solver.linear_algebra.pattern import Pattern, band_order, bandwidth
from elasticgnn.solver.linear_algebra.twofold import (
    Pair,
    TwofoldProducts,
    exact_product,
    over,
    plus,
    times,
    twofold_operator,
)
from elasticgnn.solver.problem.geometry import Array
from elasticgnn.solver.problem.instance import Instance
from elasticgnn.solver.problem.mesh import loops
from elasticgnn.solver.problem.units import Units

MOST_WORK = 3e7  # products of one factorisation: some tenths of a second
MOST_UNKNOWNS = 20_000
MOST_SETTLED = 2_000  # one by one


class PreciseSystem(TwofoldProducts):
    """As assembly.NodeSystem, with signals that are pairs of high and low parts."""

    def __init__(self, instance: Instance, live: NDArray[np.intp]) -> None:
        self.nodes, self.channels = instance.x.shape
        super().__init__(twofold_operator(instance.geometry).part(live), self.nodes)
        self.position, width = _narrow(instance, self.channels)
        self.room = tuple(np.zeros((instance.x.size, width + 1)) for _ in range(2))
        self.band = loops().TwofoldBand(width, instance.x.size, *self.room)
        self.is_factorised = False
        entry = np.arange(self.channels)
        self.unknown = (self.position.astype(np.int64)[:, None] * self.channels + entry).ravel()

    def factorise(self, data_weight: Array, curvature: Array, low: Array | None = None) -> None:
        """`curvature` G is (r, d, d), `data_weight` C is (n, d)."""
        low = np.zeros_like(curvature) if low is None else low
        given = [np.ascontiguousarray(a, np.float64) for a in (data_weight, curvature, low)]
        system = (self.operator.handle, self.channels, self.position, *given)
        self.is_factorised = loops().precise_factorise(*system, self.band)
        if not self.is_factorised:
            raise SingularSystemError

    def solve(self, right: Array) -> Array:
        """For a right side (n, d), rounded."""
        return self.solve_pair(right)[0]

    def solve_pair(self, right: Array) -> Pair:
        """High and low part of the solution (n, d)."""
        high, low = np.empty(right.size), np.zeros(right.size)
        high[self.unknown] = right.reshape(-1)
        loops().precise_solve(self.band, high, low)
        return high[self.unknown].reshape(right.shape), low[self.unknown].reshape(right.shape)

    def settled(self, pair: Pair, units: Units) -> Array:
        """The signal in numbers that float64 has in the user's units (Babai's nearest plane).

        Entries are rounded one after the other; what each one loses moves those that follow to
        where the last factorised system has them then. Stiff rows see one rounding, not many.
        """
        high, low = (part.reshape(-1) for part in pair)
        shift, out = units.shift.reshape(-1), np.empty(len(high))
        rest, factors = np.zeros(len(high)), self.room[0]
        entry = np.empty(len(high), dtype=np.int64)
        entry[self.unknown] = np.arange(len(high))
        for j in range(len(high) - 1, -1, -1):
            last, k = min(factors.shape[1] - 1, len(high) - 1 - j), entry[j]
            moved = low[k] - float(factors[j, 1 : last + 1] @ rest[j + 1 : j + 1 + last])
            user = float(np.ldexp(high[k] + moved, -units.exponent)) + shift[k]
            out[k] = np.ldexp(user - shift[k], units.exponent)
            rest[j] = (out[k] - high[k]) - low[k]
        return out.reshape(pair[0].shape)


def twofold_curvature(cones: Cones, quadratic: Array, strength: Array) -> Pair:
    """G of the cones and of `quadratic` (r,), channels times `strength` (d,): (r, d, d).

    Along w1 a block is 1 + 2 |w1|^2 times smaller than across. Rounded to float64 it need not be
    definite, and entries of K as large as 1e12 multiply what is missing.
    """
    w1, channels = cones.w1, cones.w1.shape[1]
    across, along = w1[:, :, None] + np.zeros(channels), w1[:, None, :] + np.zeros((channels, 1))
    outer = exact_product(2 * across, along)
    total = np.ones(len(w1)), np.zeros(len(w1))
    for k in range(channels):
        total = plus(total, (outer[0][:, k, k], outer[1][:, k, k]))
    whole = tuple(part[:, None, None] * np.eye(channels) for part in total)
    rest = plus((whole[0], whole[1]), (-outer[0], -outer[1]))
    scale = exact_product(cones.theta, cones.theta)
    below = times(total, scale[0])
    blocks = over(rest, (below[0][:, None, None], below[1][:, None, None]))
    stiff = quadratic[:, None, None] * np.eye(channels)
    blocks = plus(blocks, (stiff, np.zeros_like(stiff)))
    return times(times(blocks, strength[:, None]), strength[None, :])


def refusal(instance: Instance) -> str | None:
    """Why this cannot serve: no loops, or a band too wide for its width squared."""
    if not hasattr(native, "TwofoldBand"):
        return "twice the digits need the compiled loops"
    channels = 1 if instance.entrywise or instance.lambda1 == 0 else instance.x.shape[1]
    size = len(instance.x) * channels
    least = np.diff(instance.operator.indptr).max(initial=1) * channels  # a row is within the band
    small = size <= MOST_UNKNOWNS and size * float(least) ** 2 <= MOST_WORK
    if small and size * float(_narrow(instance, channels)[1]) ** 2 <= MOST_WORK:
        return None
    return "its system is too large for twice the digits"


def _narrow(instance: Instance, channels: int) -> tuple[NDArray[np.int32], int]:
    """The position of each node, and the width of the band."""
    shape = abs(instance.operator)
    links = (shape.T @ shape).tocoo()
    lower = links.row >= links.col
    pattern = Pattern(len(instance.x), channels, links.row[lower], links.col[lower])
    position = band_order(pattern)
    return position, bandwidth(pattern, position)
