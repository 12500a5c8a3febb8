"""Arrays of any usual form as what the library works with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.features import SparseFeatures


def as_features(X: Any) -> Tensor | SparseFeatures:
    """Features of any usual form in float32: a copy, as what is predicted by default lasts."""
    if isinstance(X, SparseFeatures):
        return X
    if hasattr(X, "tocsr"):
        return SparseFeatures.from_scipy(X)
    if isinstance(X, Tensor):
        dense = X.detach().resolve_neg().to(torch.float32, copy=True)
    else:
        dense = torch.tensor(np.ascontiguousarray(X)).float()
    if dense.ndim != 2:
        raise ValueError(f"X must be (n, f), got {tuple(dense.shape)}")
    if not bool(torch.isfinite(dense).all()):
        raise ValueError("X must hold finite numbers only, got NaN or infinity")
    return dense


def from_text(names: tuple[str, ...]) -> list[Any]:
    """Class names as whole numbers where all are written as such, else as they are."""
    if all(name.lstrip("-").isdecimal() for name in names):
        return [int(name) for name in names]
    return list(names)
