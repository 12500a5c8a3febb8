"""Sample weights as scikit-learn hands them over, checked under the name that the caller used."""

from typing import Any

import numpy as np

from elasticgnn.solver.problem.geometry import Array


def sample_weights(given: Any, count: int) -> Array:
    """(count,) weights >= 0, some of them positive; 1 each if none are given."""
    if given is None:
        return np.ones(count)
    weight = np.asarray(given, dtype=np.float64)
    if weight.shape != (count,):
        raise ValueError(f"sample_weight must have shape ({count},), got {weight.shape}")
    bad = weight[~(np.isfinite(weight) & (weight >= 0))]
    if bad.size:
        raise ValueError(f"sample_weight must be finite and >= 0, got {bad[0]}")
    if not weight.any():
        raise ValueError("sample_weight must not be zero everywhere, got only zero weights")
    return weight
