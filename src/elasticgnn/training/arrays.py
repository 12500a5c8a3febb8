"""Arrays of any usual form as what the library works with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.features import SparseFeatures


def as_features(X: Any) -> Tensor | SparseFeatures:
    """Features of any usual form in float32."""
    if isinstance(X, SparseFeatures):
        return X
    if hasattr(X, "tocsr"):
        return SparseFeatures.from_scipy(X)
    dense = torch.as_tensor(np.asarray(X) if not isinstance(X, Tensor) else X).float()
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
