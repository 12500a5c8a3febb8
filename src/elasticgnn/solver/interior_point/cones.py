"""The rows of the interior point method: one second-order cone each, in numpy.

Row r has the difference u = (K F)_r and the flow v with |v| < radius. Beside them stands
tau > |u|, so that s = (tau, u) and z = (radius, -v) lie in the cone; at an optimum <s, z> = 0. tau
is kept where the barrier has its minimum for the present mu:
radius tau = mu + sqrt(mu^2 + radius^2 |u|^2).
Scaling of Nesterov and Todd: W z = W^-1 s = lam, W = theta H with H the hyperbolic rotation of the
unit vector (w0, w1); Newton's system for the flow is dv = G (K dF - q) with G = (I - 2 w1 w1' /
(1 + 2 |w1|^2)) / theta^2.
"""

from dataclasses import dataclass

import numpy as np

from elasticgnn.solver.problem.geometry import Array

FARTHEST = 1e30  # a step without a limit


def dot(a: Array, b: Array) -> Array:
    """Inner products of rows: (r,)."""
    if a.shape[1] == 1:
        return (a * b)[:, 0]
    return np.einsum("rk,rk->r", a, b)


@dataclass(frozen=True)
class Cones:
    """The scaled rows at one point of the iteration."""

    radius: Array  # (r,)
    difference: Array  # (r, d) u
    flow: Array  # (r, d) v
    theta: Array  # (r,)
    w0: Array  # (r,)
    w1: Array  # (r, d)
    lam0: Array  # (r,)
    lam1: Array  # (r, d)
    shrink: Array  # (r,) 2 / (1 + 2 |w1|^2)

    def curvature(self) -> Array:
        """G as blocks (r, d, d)."""
        blocks = -self.shrink[:, None, None] * self.w1[:, :, None] * self.w1[:, None, :]
        blocks += np.eye(self.w1.shape[1])
        return blocks / (self.theta**2)[:, None, None]

    def curved(self, rows: Array) -> Array:
        """G times rows (r, d)."""
        along = self.shrink * dot(self.w1, rows)
        return np.asarray((rows - along[:, None] * self.w1) / (self.theta**2)[:, None])

    def scaled(self, q0: Array, q1: Array) -> tuple[Array, Array]:
        """W q."""
        inner = dot(self.w1, q1)
        first = self.theta * (self.w0 * q0 + inner)
        along = (q0 + inner / (1 + self.w0))[:, None]
        return first, self.theta[:, None] * (q1 + along * self.w1)

    def slack_change(self, first: Array, flow_change: Array) -> Array:
        """d tau, where `first` is the first entry of W q."""
        return np.asarray(first + 2 * self.theta**2 * self.w0 * dot(self.w1, flow_change))

    def aim(self, target: float, affine: "Move | None") -> tuple[Array, Array]:
        """q of a predictor, or of the corrector after its predictor `affine`."""
        return (-self.lam0, -self.lam1) if affine is None else self.corrected(target, affine)

    def corrected(self, target: float, move: "Move") -> tuple[Array, Array]:
        """q = -lam + lam \\ (target e - (W^-1 ds) o (W dz)) after the affine move."""
        inner, outer = dot(self.w1, move.difference), -dot(self.w1, move.flow)
        a0 = (self.w0 * move.slack - inner) / self.theta
        a1 = move.difference + (inner / (1 + self.w0) - move.slack)[:, None] * self.w1
        a1 = a1 / self.theta[:, None]
        b0 = self.theta * outer
        b1 = self.theta[:, None] * (-move.flow + (outer / (1 + self.w0))[:, None] * self.w1)
        v0 = target - a0 * b0 - dot(a1, b1)
        v1 = -(a0[:, None] * b1 + b0[:, None] * a1)
        length = np.sqrt(dot(self.lam1, self.lam1))
        determinant = (self.lam0 - length) * (self.lam0 + length)
        u0 = (self.lam0 * v0 - dot(self.lam1, v1)) / determinant
        u1 = (v1 - u0[:, None] * self.lam1) / self.lam0[:, None]
        return u0 - self.lam0, u1 - self.lam1

    def longest_step(self, change: Array) -> float:
        """The largest a with |v + a dv| <= radius in every row."""
        square, cross, length = (
            dot(change, change),
            dot(self.flow, change),
            np.sqrt(dot(self.flow, self.flow)),
        )
        room = (self.radius - length) * (self.radius + length)
        root = np.sqrt(np.maximum(cross**2 + square * room, 0.0))
        # two forms of the root of square a^2 + 2 cross a = room: the one without cancellation
        ahead = np.divide(
            room, cross + root, out=np.full_like(room, FARTHEST), where=cross + root > 0
        )
        back = np.divide(root - cross, square, out=np.full_like(room, FARTHEST), where=square > 0)
        return float(np.where(cross >= 0, ahead, back).min(initial=FARTHEST))


@dataclass(frozen=True)
class Move:
    """A direction of the iteration."""

    signal: Array  # (n, d)
    difference: Array  # (r, d)
    flow: Array  # (r, d)
    slack: Array  # (r,)


def build_cones(radius: Array, difference: Array, flow: Array, mu: float) -> Cones:
    """The scaling at (u, v) with tau at the barrier's minimum for mu."""
    square = dot(difference, difference)
    tau = (mu + np.sqrt(mu * mu + radius**2 * square)) / radius
    length = np.sqrt(dot(flow, flow))
    det_s, det_z = 2 * mu * tau / radius, (radius - length) * (radius + length)
    root_s, root_z = np.sqrt(det_s), np.sqrt(det_z)
    inner = tau * radius - dot(difference, flow)
    middle = 2 * np.sqrt((1 + inner / (root_s * root_z)) / 2)
    w1 = (difference / root_s[:, None] + flow / root_z[:, None]) / middle[:, None]
    size = dot(w1, w1)
    w0, theta = np.sqrt(1 + size), np.sqrt(root_s / root_z)
    along = -dot(w1, flow)
    lam0 = theta * (w0 * radius + along)
    lam1 = theta[:, None] * (-flow + (radius + along / (1 + w0))[:, None] * w1)
    return Cones(radius, difference, flow, theta, w0, w1, lam0, lam1, 2 / (1 + 2 * size))
