"""Loading of the extension; torch comes first, so that both use torch's OpenMP threads."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import warnings
from types import ModuleType

import torch  # noqa: F401  its libgomp must be in the process before the extension asks for one


class MissingKernelsWarning(UserWarning):
    """The compiled loops are missing: results are the same, speed is not."""


def _load() -> ModuleType | None:
    """The installed extension, or the file that ELASTICGNN_NATIVE names (a sanitizer's build)."""
    path = os.environ.get("ELASTICGNN_NATIVE")
    if path:
        spec = importlib.util.spec_from_file_location("elasticgnn.kernels._native", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    try:
        return importlib.import_module("elasticgnn.kernels._native")
    except ModuleNotFoundError:
        return None


native: ModuleType | None = _load()


@functools.cache
def warn_once_if_missing() -> None:
    """Nothing; the first call warns if the plain torch path has to stand in for the loops."""
    if native is None:
        warnings.warn(
            "elasticgnn was installed without its compiled kernels (no working C++ compiler was "
            "found); the plain torch path is used: same results, several times slower. "
            "Install a C++17 compiler and reinstall elasticgnn to get them.",
            MissingKernelsWarning,
            stacklevel=2,
        )
