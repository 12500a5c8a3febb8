"""What may stand beside the squared loss: other losses, a lasso, bounds, strengths per row."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.solver.losses import Loss, Squared, as_loss
from elasticgnn.solver.problem.node_terms import NodeTerms

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Extras:
    """What a problem has beside its penalty: another loss, bounds, a lasso, own strengths.

    The options of `minimise` of the same names, for `minimise_path` and `cross_validate`; None, 0
    and the squared loss add nothing.

    >>> from elasticgnn.solver import Extras, minimise_path
    >>> path = minimise_path(x, chain, [0.1], extras=Extras(lower=0.5))
    >>> bool((path.solutions[0].value >= 0.5 - 1e-9).all())
    True
    """

    loss: str | Loss = field(default_factory=Squared)
    lower: float | Tensor | None = None
    upper: float | Tensor | None = None
    sparsity: float = 0.0
    row_strength: Tensor | None = None
    channel_strength: Tensor | None = None

    @property
    def options(self) -> dict[str, Any]:
        """As keyword arguments of minimise."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but the squared loss."""
        others = (self.lower, self.upper, self.row_strength, self.channel_strength)
        squared = isinstance(as_loss(self.loss), Squared)
        return squared and self.sparsity == 0 and all(one is None for one in others)


def node_terms(
    extras: Extras, shape: tuple[int, ...], unobserved: NDArray[np.bool_]
) -> NodeTerms | None:
    """The checked terms of the nodes; None for the squared loss alone."""
    loss, sparsity = as_loss(extras.loss), float(extras.sparsity)
    if not (np.isfinite(sparsity) and sparsity >= 0):
        raise ValueError(f"sparsity must be a finite number >= 0, got {sparsity}")
    if isinstance(loss, Squared) and sparsity == 0 and extras.lower is extras.upper is None:
        return None
    lower = _bound("lower", extras.lower, -np.inf, shape)
    upper = _bound("upper", extras.upper, np.inf, shape)
    bad = np.argwhere(lower >= upper)
    if len(bad):
        low, high = lower[tuple(bad[0])], upper[tuple(bad[0])]
        raise ValueError(f"lower must be < upper, got {low} and {high} at node {bad[0][0]}")
    # what has no values anywhere in its component has no meaning either, and stays out of the sum
    lower, upper = np.where(unobserved, -np.inf, lower), np.where(unobserved, np.inf, upper)
    return NodeTerms(loss, sparsity, lower, upper)


def _bound(name: str, value: float | Tensor | None, none: float, shape: tuple[int, ...]) -> Array:
    """A bound as (n, d), from a number, (n,) or (n, d)."""
    if value is None:
        return np.full(shape, none)
    rows = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value, np.float64)
    if rows.ndim == 1 and rows.shape == shape[:1]:
        rows = rows[:, None]
    if rows.ndim and rows.shape not in {(shape[0], 1), shape}:
        raise ValueError(
            f"{name} must be a number or have shape ({shape[0]},) or {shape}, got {rows.shape}"
        )
    if np.isnan(rows).any() or (rows == -none).any():
        raise ValueError(f"{name} must be a number below or above all values, got {value}")
    return np.ascontiguousarray(np.broadcast_to(rows, shape))


def checked_strength(name: str, value: Tensor, count: int) -> Array:
    """A factor > 0 per row or channel."""
    rows = value.detach().double().cpu().numpy()
    if rows.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), got {rows.shape}")
    bad = rows[~(np.isfinite(rows) & (rows > 0))]
    if bad.size:
        raise ValueError(f"{name} must be finite and > 0, got {bad[0]}")
    return rows
