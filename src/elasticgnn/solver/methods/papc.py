"""The paper's iteration (its Figure 1) run until the gap certifies."""

from dataclasses import dataclass

import numpy as np

from elasticgnn.solver.ascent.backends import PlainBackend
from elasticgnn.solver.ascent.reference import shrink_rows
from elasticgnn.solver.certificate.measure import project_flow
from elasticgnn.solver.methods.outcome import Outcome
from elasticgnn.solver.methods.progress import GapProgress
from elasticgnn.solver.methods.stopping import Stop, paper_block
from elasticgnn.solver.problem.instance import Array, Instance


@dataclass
class PaperState:
    """Signal F and dual flow w Z of the iteration."""

    signal: Array
    flow: Array


@dataclass(frozen=True)
class PaperStep:
    """One step with gamma = 1/(c + lambda2 B/2) and beta = 1/(gamma B), B >= ||K' omega K||."""

    instance: Instance
    gamma: float
    beta: float

    def __call__(self, state: PaperState) -> PaperState:
        instance, gamma = self.instance, self.gamma
        omega = instance.row_weight[:, None]
        laplacian = instance.adjoint @ (omega * (instance.operator @ state.signal))
        slope = instance.data_weight * (state.signal - instance.x)
        y = state.signal - gamma * (slope + instance.lambda2 * laplacian)
        predicted = y - gamma * (instance.adjoint @ state.flow)
        moved = state.flow + self.beta * omega * (instance.operator @ predicted)
        flow = shrink_rows(instance, moved, instance.lambda1 * omega, np.zeros_like(omega))
        return PaperState(np.asarray(y - gamma * (instance.adjoint @ flow)), flow)


def paper_step(instance: Instance) -> PaperStep:
    """The step with the paper's sizes for order 0 and unit data weights."""
    bound = np.float64(_norm_bound(instance))  # whose overflow is no error
    gamma = 1 / (float(instance.data_weight.max(initial=1.0)) + instance.lambda2 * bound / 2)
    return PaperStep(instance, float(gamma), float(1 / (gamma * bound)))


def _norm_bound(instance: Instance) -> float:
    """B >= ||K' omega K||: ||L|| to the power order + 1, times the largest strength of a row."""
    own = instance.geometry.row_strength
    strongest = 1.0 if own is None else float(own.max(initial=0.0))
    free = instance.geometry.boundary == "free"
    length = np.float64(4.0 if free else instance.graph.norm_bound)
    return float(strongest * length ** (instance.order + 1))


def iterate(instance: Instance, stop: Stop, flow: Array, guess: Array) -> Outcome:
    """Signal and folded flow of the paper's iteration once their gap is small enough."""
    step = paper_step(instance)
    state = PaperState(np.where(instance.is_missing, guess, instance.x), flow)
    backend = PlainBackend(instance, flow, guess)
    steps, interrupted = 0, False
    with GapProgress(stop.rtol, stop.callback) as progress:
        try:
            while True:
                folded = _folded(instance, state, backend)
                now = backend.certificate(state.signal, folded)
                progress.show(steps, now.relative_gap)
                if now.is_final(stop.rtol) or steps >= stop.last_step:
                    break
                block = min(paper_block(steps), stop.last_step - steps)
                for _ in range(block):
                    state = step(state)
                steps += block
                if not np.isfinite(state.signal).all():  # no step leads back
                    break
        except KeyboardInterrupt:
            interrupted = True
    return Outcome(state.signal, _folded(instance, state, backend), steps, interrupted)


def _folded(instance: Instance, state: PaperState, backend: PlainBackend) -> Array:
    """V = w (Z + lambda2 delta(F)): both penalties in one dual."""
    flow = project_flow(instance, state.flow)
    if instance.lambda2 > 0:
        omega = instance.row_weight[:, None]
        flow = state.flow + instance.lambda2 * omega * (instance.operator @ state.signal)
    return backend.repair(flow)
