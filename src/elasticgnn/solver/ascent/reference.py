"""Accelerated projection on the folded dual in numpy: any order; the definition of the loops.

With F = X - K'V / c the folded dual is a smooth function of the flow V plus the conjugate of the
penalty. Its step size per row majorises the curvature (Cauchy-Schwarz over each node's rows):

    1 / step_r = (1 / omega_r) sum_i |K_ri| (sum_q |K_qi| omega_q) / c_i
"""

import numpy as np

from elasticgnn.solver.certificate.measure import project_flow
from elasticgnn.solver.problem.instance import Array, Instance


def flow_steps(instance: Instance, stiffness: Array) -> Array:
    """The largest safe step of each row of the flow (r,); 0 where a row has no weight."""
    omega = instance.row_weight
    load = abs(instance.adjoint) @ omega
    curvature = abs(instance.operator) @ (load / stiffness.min(1, initial=np.inf))
    return np.divide(
        omega, curvature, out=np.zeros_like(omega), where=(curvature > 0) & (omega > 0)
    )


def shrink_rows(instance: Instance, rows: Array, radius: Array, mix: Array) -> Array:
    """The prox of the folded dual: rows beyond `radius` keep the share `mix` of their excess."""
    reach = np.abs(rows) if instance.entrywise else np.linalg.norm(rows, axis=1, keepdims=True)
    target = radius + mix * (reach - radius)
    factor = np.divide(target, reach, out=np.ones_like(reach), where=reach > radius)
    return np.asarray(rows * factor)


class PlainAscent:
    """The state of the ascent: flow V, flow with momentum, steps since the last restart."""

    def __init__(self, instance: Instance, stiffness: Array, center: Array, flow: Array) -> None:
        self.instance = instance
        self.stiffness = stiffness
        self.center = center
        self.flow = project_flow(instance, flow)
        self.ahead = self.flow
        self.age = 0
        step = flow_steps(instance, stiffness)[:, None]
        omega = instance.row_weight[:, None]
        beta = np.divide(step, omega, out=np.zeros_like(step), where=omega > 0)
        self.step = step
        self.radius = instance.lambda1 * omega
        self.mix = _excess_share(instance.lambda2, beta)

    def primal(self, flow: Array) -> Array:
        """F = center - K'V / stiffness."""
        return np.asarray(self.center - (self.instance.adjoint @ flow) / self.stiffness)

    def recenter(self, signal: Array) -> None:
        """Centre the data term of missing values on those of `signal` from now on."""
        self.center = np.where(self.instance.is_missing, signal, self.center)
        self.age = 0

    def advance(self, steps: int) -> None:
        """Takes so many steps."""
        for _ in range(steps):
            self._step()

    def _step(self) -> None:
        delta = self.instance.operator @ self.primal(self.ahead)
        moved = self.ahead + self.step * delta
        flow = shrink_rows(self.instance, moved, self.radius, self.mix)
        self.age += 1
        change = flow - self.flow
        uphill = np.divide(
            (self.ahead - flow) * change,
            self.step,
            out=np.zeros_like(change),
            where=np.broadcast_to(self.step > 0, change.shape),
        ).sum()
        self.ahead = flow + (self.age - 1) / (self.age + 2) * change
        self.flow = flow
        if uphill > 0:  # the momentum points uphill: halve its memory
            self.age //= 2


def _excess_share(lambda2: float, beta: Array) -> Array:
    """lambda2 / (beta + lambda2), 0 when there is no quadratic penalty."""
    if lambda2 == 0:
        return np.zeros_like(beta)
    return np.asarray(lambda2 / (beta + lambda2))
