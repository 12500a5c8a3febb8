"""Order 0 on the compiled loops: the problem in U = s F (kernels/solver/problem.h)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.kernels import native, tuning
from elasticgnn.solver.ascent.threads import ThreadChoice
from elasticgnn.solver.certificate.measure import EPS, Measure, bounded_measure, missing_terms
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.mesh import Mesh, loops
from elasticgnn.solver.problem.node_terms import Bounds

CHUNK = 4096
INSIDE = 1 - 1e-6  # share of its radius up to which a flow lies inside its ball, not on it


def is_available(instance: Instance) -> bool:
    """Whether the compiled loops can serve this problem."""
    simple = instance.terms is None and instance.channel_strength is None
    return native is not None and instance.is_plain and instance.has_node_weights and simple


@dataclass(frozen=True)
class Flux:
    """A flow with what each node sees of it."""

    flow: Array  # V (m, d)
    divergence: Array  # sum of +-V (n, d)
    traffic: Array  # sum of |V| (n, d)


@dataclass(frozen=True)
class Pieces:
    """Rows of nodes (or their single entries, where channels do not interact) in flat pieces."""

    label: NDArray[np.int32]  # (n, units per node)
    count: int


@dataclass(frozen=True)
class Scaled:
    """1/2 sum h |U - b|^2 + sum w (lambda1 |U_i - U_j| + lambda2/2 |U_i - U_j|^2)."""

    mesh: Mesh
    center: Array  # b (n, d)
    stiff: Array  # h (n,), 0 where the value is missing
    weight: Array  # w (m,)
    lambda1: float
    lambda2: float
    entrywise: bool
    unscaled: bool = False  # s = 1

    @property
    def channels(self) -> int:
        """Number of channels d."""
        return self.center.shape[1]

    @cached_property
    def threads(self) -> int:
        """One for small problems: their steps are over before a second thread has begun."""
        small = self.mesh.num_edges * self.channels < tuning.SOLVER_ONE_THREAD
        return 1 if small else torch.get_num_threads()

    def pair(
        self,
        *,
        signal: Array | None = None,
        flux: Flux | None = None,
        data: tuple[Array, Array] | None = None,
        partial: Array | None = None,
    ) -> object:
        """The loops' view of the arrays, which the caller keeps alive; `data` are b and h."""
        center, stiff = data or (self.center, self.stiff)
        seen = (None, None, None) if flux is None else (flux.flow, flux.divergence, flux.traffic)
        return loops().Pair(
            self.mesh.handle,
            self.channels,
            self.threads,
            self.entrywise,
            self.unscaled,
            self.lambda1,
            self.lambda2,
            center,
            stiff,
            self.weight,
            signal,
            *seen,
            partial,
        )

    def projected(self, flow: NDArray[np.floating]) -> Array:
        """The flow in float64 with every row inside its ball."""
        out = np.empty(flow.shape)
        wide = flow.dtype == np.float64
        loops().solver_project(self.pair(), wide, flow, out)
        return out

    def signal_of(self, flow: Array, center: Array, stiff: Array) -> tuple[Array, Flux]:
        """U = b - div V / h for the given b and h, and what nodes see of V."""
        out, flux = np.empty_like(center), Flux(flow, np.empty_like(center), np.empty_like(center))
        loops().solver_signal(self.pair(flux=flux, data=(center, stiff)), out)
        return out, flux

    def terms(self, signal: Array, flux: Flux) -> Measure:
        """The measure of (U, V) without the missing nodes' terms."""
        rows = max(self.mesh.num_nodes, self.mesh.num_edges)
        partial = np.empty(4 * (rows // CHUNK + 1))
        pair = self.pair(signal=signal, flux=flux, partial=partial)
        objective, gap, noise, square = loops().solver_gap(pair)
        rounding = EPS * (noise + 8 * gap) + EPS**2 * square
        return bounded_measure(objective, gap + rounding, rounding)

    def pieces(self, flux: Flux) -> Pieces:
        """What is joined by flows that lie inside their balls: flat at an optimum."""
        units = self.channels if self.entrywise else 1
        label = np.empty((self.mesh.num_nodes, units), dtype=np.int32)
        count = loops().solver_pieces(self.pair(flux=flux), INSIDE, label)
        return Pieces(label, count)

    def averaged(self, signal: Array, stiff: Array, pieces: Pieces) -> Array:
        """U averaged over each piece, weighted by `stiff`."""
        width = self.channels // pieces.label.shape[1]
        out, mean = np.empty_like(signal), np.zeros((pieces.count, width))
        pair = self.pair(signal=signal, data=(self.center, stiff))
        loops().solver_average(pair, pieces.label, mean, np.zeros(pieces.count), out)
        return out


def build_scaled(instance: Instance) -> Scaled:
    """The instance in U = s F: b = s X and h = c / s^2."""
    scale = instance.scale
    return Scaled(
        instance.geometry.mesh,
        np.ascontiguousarray(instance.x * scale[:, None]),
        instance.node_weight / scale**2,
        np.ascontiguousarray(instance.row_weight),
        instance.lambda1,
        instance.lambda2,
        instance.entrywise,
        instance.geometry.unscaled,
    )


def measure_scaled(
    scaled: Scaled, missing: NDArray[np.intp], pair: tuple[Array, Flux], bounds: Bounds | None
) -> Measure:
    """The certificate of (U, V); `bounds` is the box of U where values are missing."""
    signal, flux = pair
    known = scaled.terms(signal, flux)
    if not len(missing):
        return known
    assert bounds is not None
    extra, reach = missing_terms(signal[missing], flux.divergence[missing], bounds.at(missing))
    edges = (np.diff(scaled.mesh.leave) + np.diff(scaled.mesh.enter))[missing] + 4
    largest = np.abs(flux.flow).max(initial=0.0)
    noise = EPS * float((reach * (edges**2 * largest)[:, None]).sum())
    return bounded_measure(known.objective, known.gap + extra + noise, known.rounding + noise)


@dataclass(frozen=True)
class Coefficients:
    """What a step multiplies with, in the precision of its numbers."""

    shift: Array  # (d,): differences do not see it, so what float32 holds is centred first
    base: NDArray[np.floating]  # b - shift (n, d)
    gain: NDArray[np.floating]  # 1 / h (n,)
    stride: int  # 0: one number stands for all edges
    step: NDArray[np.floating]  # (m,) or (1,)
    weight: NDArray[np.floating]
    mix: NDArray[np.floating]  # share of the excess that the prox keeps


def coefficients(scaled: Scaled, stiff: Array, center: Array, dtype: type) -> Coefficients:
    """The coefficients for data of stiffness h (n,) and centre b (n, d)."""
    total = stiff.sum()
    shift = (stiff @ center) / total if total > 0 else center.sum(0)
    step, beta = _steps(scaled, stiff)
    mix = np.zeros_like(beta) if scaled.lambda2 == 0 else scaled.lambda2 / (beta + scaled.lambda2)
    rows = [step, scaled.weight, mix]
    stride = int(any(len(r) and (r != r[0]).any() for r in rows))
    return Coefficients(
        shift,
        np.ascontiguousarray(center - shift, dtype=dtype),
        np.ascontiguousarray(1 / stiff, dtype=dtype),
        stride,
        *(np.ascontiguousarray(r if stride else r[:1], dtype=dtype) for r in rows),
    )


class NativeAscent:
    """The accelerated ascent on the compiled loops, in float32 or float64."""

    def __init__(self, scaled: Scaled, stiff: Array, center: Array, dtype: type) -> None:
        self.scaled, self.stiff, self.dtype = scaled, stiff, dtype
        self.center = center
        known = coefficients(scaled, stiff, center, dtype)
        self.shift, self.base, self.gain = known.shift, known.base, known.gain
        self.stride = known.stride
        radius = scaled.lambda1 * (scaled.weight if known.stride else scaled.weight[:1])
        self.rows = [known.step, np.ascontiguousarray(radius, dtype=dtype), known.mix]
        self.signal = np.empty_like(self.base)
        self.flow: NDArray[np.floating] = np.zeros(
            (scaled.mesh.num_edges, scaled.channels), dtype=dtype
        )
        self.ahead = np.zeros_like(self.flow)
        self.partial = np.empty(scaled.mesh.num_edges // CHUNK + 1)
        self.age = 0
        self.thread_choice = ThreadChoice(scaled.threads)

    def load(self, flow: Array) -> None:
        """Go on from another flow."""
        self.flow[:] = flow
        self.ahead[:] = flow
        self.age = 0

    def recenter(self, nodes: NDArray[np.intp], rows: Array) -> None:
        """Centre the data term of `nodes` on `rows` from now on."""
        self.center[nodes] = rows
        self.base[nodes] = rows - self.shift
        self.age = 0

    def advance(self, steps: int) -> None:
        """Takes so many steps."""
        self.thread_choice.advance(steps, self._run)

    def _run(self, steps: int, threads: int) -> None:
        scaled, state = self.scaled, (self.signal, self.flow, self.ahead, self.partial)
        self.age = loops().solver_advance(
            self.dtype is np.float64,
            scaled.mesh.handle,
            scaled.channels,
            self.stride,
            threads,
            scaled.entrywise,
            self.base,
            self.gain,
            *self.rows,
            *state,
            steps,
            self.age,
        )


def _steps(scaled: Scaled, stiff: Array) -> tuple[Array, Array]:
    """The largest safe step of each edge's flow, and the same per unit of weight."""
    mesh, weight = scaled.mesh, scaled.weight
    load: Array = np.zeros(mesh.num_nodes)
    for end in (mesh.tail, mesh.head):
        load = load + np.bincount(end, weight, mesh.num_nodes)
    load = load / stiff
    curvature = load[mesh.tail] + load[mesh.head]
    beta = np.divide(
        1.0, curvature, out=np.zeros_like(weight), where=(curvature > 0) & (weight > 0)
    )
    return weight * beta, beta
