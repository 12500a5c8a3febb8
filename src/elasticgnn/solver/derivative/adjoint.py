"""The linear system of the implicit gradient, solved on the differences that are free to move."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.linear_algebra.fill import FactorTooLargeError, check_matrix, check_product
from elasticgnn.solver.problem.instance import Array, Instance

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

REFINEMENTS = 60
HELD = 1e-9  # of the largest entry: what keeps a missing value where it is
STIFFNESS = 1e6  # of the springs that hold the free rows, relative to the largest curvature


@dataclass(frozen=True)
class Rows:
    """The differences of an optimum, and which of their entries are zero (free)."""

    delta: Array  # (r, d)
    free: NDArray[np.bool_]  # (r, d); whole rows unless entrywise
    entrywise: bool


def split_rows(instance: Instance, signal: Array, share: float) -> Rows:
    """Entries no larger than `share` of the signal's spread are free; none if lambda1 = 0."""
    delta = np.asarray(instance.operator @ signal)
    limit = share * max(float(signal.std()), np.finfo(np.float64).tiny) if signal.size else 0.0
    size = np.abs(delta) if instance.entrywise else np.linalg.norm(delta, axis=1, keepdims=True)
    # with lambda1 = 0 nothing ties rows together; a row of weight 0 ties nothing either
    tied = (instance.lambda1 > 0) & (instance.row_weight[:, None] > 0)
    free = np.broadcast_to((size <= limit) & tied, delta.shape)
    return Rows(delta, np.array(free), instance.entrywise)


class Adjoint:
    """H v + K_free' mu = g with K_free v = b, factorised once for any number of g and b.

    The free rows are held by stiff springs whose forces mu are then refined (method of
    multipliers); each refinement gains several digits.
    """

    def __init__(self, instance: Instance, rows: Rows) -> None:
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        self.free = rows.free
        try:
            check_product(instance.operator)
            self.hessian, self.held = _hessian(instance, rows), _held_rows(instance, rows)
            self.stiff = STIFFNESS * float(self.hessian.diagonal().max(initial=1.0))
            system = self.hessian + self.stiff * (self.held.T @ self.held)
            check_matrix(system)
        except FactorTooLargeError as error:
            raise ValueError(
                f"graph must have smaller factors where a gradient is asked for: {error}"
            ) from error
        try:
            self.factors = splu(system.tocsc())
        except RuntimeError:  # missing values beside knots: no row holds them, so any value does
            held = HELD * float(system.diagonal().max()) * instance.is_missing.ravel()
            self.factors = splu((system + diags_array(held)).tocsc())

    def solve(self, gradient: Array, held_at: Array | None = None) -> tuple[Array, Array]:
        """v (n, d) and mu (r, d) for g (n, d) and b (r, d), of which only free entries count."""
        target = gradient.ravel()
        at = 0.0 if held_at is None else held_at.ravel()[self.free.ravel()]
        force, adjoint = np.zeros(self.held.shape[0]), np.zeros_like(target)
        scale = float(np.abs(target).max(initial=0.0)) + float(np.abs(at).max(initial=0.0))
        for _ in range(REFINEMENTS):
            multiplier = force + self.stiff * (self.held @ adjoint - at)
            change = self.factors.solve(target - self.hessian @ adjoint - self.held.T @ multiplier)
            adjoint = adjoint + change
            force = force + self.stiff * (self.held @ adjoint - at)
            if np.abs(change).max(initial=0.0) <= 1e-14 * scale:
                break
        multiplier = np.zeros(self.free.size)
        multiplier[self.free.ravel()] = force
        return adjoint.reshape(gradient.shape), multiplier.reshape(self.free.shape)


def polish(
    instance: Instance, rows: Rows, signal: Array, steps: int = 3
) -> tuple[Array, Array] | None:
    """Newton's optimum within the space that keeps the free rows at zero: F and their flow.

    None if the steps do not settle, which says that the split of the rows was not yet right.
    """
    for _ in range(steps):
        delta = np.asarray(instance.operator @ signal)
        gradient = instance.data_weight * (signal - instance.x) + instance.adjoint @ (
            instance.row_weight[:, None] * _slope(instance, replace(rows, delta=delta))
        )
        step, force = Adjoint(instance, replace(rows, delta=delta)).solve(gradient)
        signal = signal - step
    settled = np.abs(step).max(initial=0.0) <= 1e-9 * max(np.abs(signal).max(initial=0.0), 1e-300)
    return (signal, -force) if settled else None


def _slope(instance: Instance, rows: Rows) -> Array:
    """Gradient of the penalty per unit of weight at the rows that are not free, else 0."""
    size = np.abs(rows.delta)
    if not rows.entrywise:
        size = np.linalg.norm(rows.delta, axis=1, keepdims=True)
    unit = rows.delta / np.where(size > 0, size, 1.0)
    return np.where(rows.free, 0.0, instance.lambda1 * unit + instance.lambda2 * rows.delta)


def _hessian(instance: Instance, rows: Rows) -> "csc_array":
    """C + K' omega B K over the rows that are not free, on (n d) unknowns."""
    from scipy.sparse import csc_array, diags_array, eye_array, kron

    channels = instance.x.shape[1]
    wide = kron(instance.operator, eye_array(channels), format="csr")
    data = diags_array(instance.data_weight.ravel())
    return csc_array(data + wide.T @ _curvature(instance, rows) @ wide)


def _curvature(instance: Instance, rows: Rows) -> "csr_array":
    """omega B as a matrix on (r d): blocks of a row for "l21", a diagonal for "l1"."""
    from scipy.sparse import block_diag, csr_array, diags_array

    moving = (~rows.free).astype(np.float64)
    flat = instance.row_weight[:, None] * instance.lambda2 * moving
    diagonal = diags_array(flat.ravel())
    if rows.entrywise or not len(rows.delta):
        return csr_array(diagonal)
    length = np.linalg.norm(rows.delta, axis=1)
    bend = instance.lambda1 * instance.row_weight * moving[:, 0]
    bend = np.divide(bend, length, out=np.zeros_like(bend), where=length > 0)
    unit = rows.delta / np.where(length > 0, length, 1.0)[:, None]
    blocks = bend[:, None, None] * (
        np.eye(rows.delta.shape[1]) - unit[:, :, None] * unit[:, None, :]
    )
    return csr_array(diagonal + block_diag(list(blocks), format="csr"))


def _held_rows(instance: Instance, rows: Rows) -> "csr_array":
    """The free entries of K on (n d) unknowns."""
    from scipy.sparse import csr_array, eye_array, kron

    wide = csr_array(kron(instance.operator, eye_array(instance.x.shape[1]), format="csr"))
    return csr_array(wide[np.flatnonzero(rows.free.ravel())])
