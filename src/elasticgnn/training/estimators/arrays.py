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
        dense = torch.tensor(np.ascontiguousarray(of_numbers(X))).float()
    if dense.ndim != 2:
        raise ValueError(f"X must be (n, f), got {tuple(dense.shape)}")
    if not bool(torch.isfinite(dense).all()):
        raise ValueError("X must hold finite numbers only, got NaN or infinity")
    return dense


def of_numbers(X: Any) -> Any:
    """X itself; refuses a table or an array that holds anything but numbers."""
    kind = getattr(np.asarray(X), "dtype", None)
    if kind is not None and kind.kind in "fiub":
        return X
    words = [k for k in getattr(X, "columns", ()) if np.asarray(X[k]).dtype.kind not in "fiub"]
    where = f"column {words[0]!r} of " if words else ""
    found = np.asarray(X[words[0]]).dtype if words else kind
    raise ValueError(f"X must hold numbers, got {where}{found}")


def column_names(X: Any) -> tuple[str, ...] | None:
    """The names of the columns of a table, by which they are found again; None of an array."""
    names = list(getattr(X, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return None
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X must have columns of different names, got {twice!r} twice")
    return tuple(names)


def from_text(names: tuple[str, ...]) -> list[Any]:
    """Class names as whole numbers where all are written as such, else as they are."""
    if all(name.lstrip("-").isdecimal() for name in names):
        return [int(name) for name in names]
    return list(names)
