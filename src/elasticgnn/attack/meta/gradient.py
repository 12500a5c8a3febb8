"""The attack loss's exact derivative in every node pair, as factors: nothing here is (n, n).

With logits `S S X W` and E the loss's derivative in `S S X`, the derivative in S is K S + S K for
K = E X'. E has few columns' worth of rank outside the labelled rows (the loss itself, after
training) and is arbitrary in the labelled rows (through training), so K = P Q' + scatter(C).
The normalisation S = D^-1/2 (A + I) D^-1/2 turns T = (K + K') S + S (K + K') into

    g_ij = s_i s_j T_ij + q_i + q_j,        q_i = -(1 / 2 d_i) sum_j T_ij S_ij.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from elasticgnn.attack.losses import find_loss
from elasticgnn.attack.meta.inner import (
    InnerAdjoint,
    InnerTraining,
    Trajectory,
    reverse,
    train,
)

Array = NDArray[np.floating]


@dataclass(frozen=True)
class AttackLoss:
    """A weighted sum over nodes of a loss of their logits, larger being better for the attacker."""

    target: Tensor  # (n, c) one-hot
    weight: Tensor  # (n,) summing to one
    kind: str = "cross_entropy"

    def value(self, logits: Tensor) -> float:
        """The weighted sum of the attacker's losses over the nodes."""
        return float((self.weight * self.rows(logits)).sum())

    def rows(self, logits: Tensor) -> Tensor:
        """The attacker's loss of every node, (n,)."""
        return find_loss(self.kind)(logits, self.target.argmax(1))

    def derivative(self, logits: Tensor) -> Tensor:
        """(n, c) of `value`."""
        leaf = logits.detach().requires_grad_()
        return torch.autograd.grad((self.weight * self.rows(leaf)).sum(), leaf)[0]


@dataclass(frozen=True)
class Surrogate:
    """What stays the same from flip to flip."""

    features: csr_array  # (n, f)
    features_transposed: csr_array  # (f, n)
    labelled: NDArray[np.int64]
    target: Tensor  # (labelled, c) one-hot
    loss: AttackLoss
    plan: InnerTraining


@dataclass(frozen=True)
class View:
    """The surrogate's sight of one graph."""

    smooth: csr_array  # (n, n) S
    scale: Array  # (n,) s
    twice: csr_array  # (labelled, n): rows of S S
    seen: Tensor  # (labelled, f): M
    gram: Tensor  # (labelled, labelled): M M'


@dataclass(frozen=True)
class PairGradient:
    """g as factors: left right' + N + N', N = reach' spread, plus `direct` in labelled rows."""

    left: Array  # (n, r)
    right: Array  # (n, r)
    reach: Array  # (labelled, n)
    spread: csr_array  # (labelled, n)
    direct: Array  # (labelled, n)
    labelled: NDArray[np.int64]
    loss: float

    def rows(self, start: int, stop: int) -> Array:
        """Rows start..stop and columns start..n of g: with symmetry, all pairs once."""
        block: Array = (
            torch.from_numpy(self.left[start:stop]) @ torch.from_numpy(self.right[start:]).T
        ).numpy()
        if not self.labelled.size:
            return block
        near = self.spread[:, start:stop]
        used = np.flatnonzero(np.diff(near.indptr))
        block += near[used].T @ self.reach[used, start:]
        block += (self.spread[:, start:].T @ self.reach[:, start:stop]).T
        behind = np.flatnonzero(self.labelled >= start)
        block[:, self.labelled[behind] - start] += self.direct[behind, start:stop].T
        inside = behind[self.labelled[behind] < stop]
        block[self.labelled[inside] - start] += self.direct[inside, start:]
        return block


def add_gradients(parts: Sequence[PairGradient]) -> PairGradient:
    """The sum of gradients on one graph, with their mean loss."""
    return replace(
        parts[0],
        left=np.hstack([part.left for part in parts]),
        right=np.hstack([part.right for part in parts]),
        reach=np.sum([part.reach for part in parts], axis=0),
        direct=np.sum([part.direct for part in parts], axis=0),
        loss=sum(part.loss for part in parts) / len(parts),
    )


def view_of(adjacency: csr_array, surrogate: Surrogate) -> View:
    """S, the labelled rows of S S X, and their inner products."""
    loops = adjacency + csr_array(_identity(adjacency.shape[0], adjacency.dtype))
    scale = 1 / np.sqrt(np.asarray(loops.sum(axis=1)).ravel())
    smooth = csr_array(loops.multiply(scale[:, None]).multiply(scale[None, :]))
    twice = csr_array(smooth[surrogate.labelled] @ smooth)
    seen = torch.from_numpy((twice @ surrogate.features).toarray())
    return View(smooth, scale, twice, seen, seen @ seen.T)


def _identity(size: int, dtype: np.dtype[np.floating]) -> csr_array:
    index = np.arange(size + 1)
    return csr_array((np.ones(size, dtype), index[:-1], index), shape=(size, size))


def meta_gradient(view: View, surrogate: Surrogate, first: Tensor, second: Tensor) -> PairGradient:
    """The derivative, in every pair's weight, of the loss after training from these weights."""
    record = train(view.gram, view.seen @ first, second, surrogate.target, surrogate.plan)
    carried, logits = predict(view, surrogate, first, record)
    by_logits = surrogate.loss.derivative(logits)
    value = surrogate.loss.value(logits)
    upstream = torch.from_numpy(
        surrogate.features_transposed @ (view.smooth @ (view.smooth @ by_logits.numpy()))
    )
    by_coordinate = view.seen @ upstream
    second_bar = first.T @ upstream + record.coordinate[-1].T @ by_coordinate
    adjoint = reverse(view.gram, record, by_coordinate, second_bar, surrogate.plan)
    through = carried_rows(view, surrogate, adjoint, first, upstream @ record.second[-1].T)
    return assemble(view, surrogate, by_logits.numpy(), carried, through, value)


def predict(
    view: View, surrogate: Surrogate, first: Tensor, record: Trajectory
) -> tuple[Array, Tensor]:
    """X W at the end of training and the logits S S X W."""
    end = record.second[-1]
    weights = first @ end + view.seen.T @ (record.coordinate[-1] @ end)
    carried = surrogate.features @ weights.numpy()
    return carried, torch.from_numpy(view.smooth @ (view.smooth @ carried))


def carried_rows(
    view: View, surrogate: Surrogate, adjoint: InnerAdjoint, first: Tensor, ahead: Tensor
) -> Array:
    """C' = X E', (n, labelled), for the part E of the derivative that came through training."""
    rows = torch.addmm(adjoint.psi @ first.T, adjoint.phi, ahead.T).addmm_(adjoint.core, view.seen)
    return np.asarray(surrogate.features @ np.ascontiguousarray(rows.numpy().T))


def assemble(
    view: View, surrogate: Surrogate, p: Array, q: Array, through: Array, loss: float
) -> PairGradient:
    """K = P Q' + scatter(C) carried through S and its normalisation; `through` is C'."""
    smooth, scale, labelled = view.smooth, view.scale, surrogate.labelled
    sp, sq = smooth @ p, smooth @ q
    row = (p * (smooth @ sq)).sum(1) + 2 * (sp * sq).sum(1) + ((smooth @ sp) * q).sum(1)
    onward = through
    if labelled.size:
        onward = smooth @ through
        row += degree_part(view, labelled, through, onward)
    by_degree = (-0.5 * scale**2 * row)[:, None]
    ones = np.ones_like(by_degree)
    column = scale[:, None]
    return PairGradient(
        np.hstack((column * np.hstack((p, sp, sq, q)), by_degree, ones)),
        np.hstack((column * np.hstack((sq, q, p, sp)), ones, by_degree)),
        np.ascontiguousarray((column * through).T),
        csr_array(smooth[labelled].multiply(scale[None, :])),
        np.ascontiguousarray((column * onward * scale[labelled]).T),
        labelled,
        loss,
    )


def degree_part(view: View, labelled: NDArray[np.int64], through: Array, onward: Array) -> Array:
    """sum_j T_ij S_ij for the scattered part C of K, from C at S S's entries and C S at S's."""
    size = len(view.scale)
    total = np.zeros(size, through.dtype)
    once = view.smooth[labelled].tocoo()
    value = once.data * onward[once.col, once.row]
    np.add.at(total, labelled[once.row], value)
    total += np.bincount(once.col, 2 * value, size).astype(total.dtype)
    twice = view.twice.tocoo()
    reached = twice.data * through[twice.col, twice.row]
    total += np.bincount(twice.col, reached, size).astype(total.dtype)
    return total
