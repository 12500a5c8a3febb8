"""Target leakage: features that are known only of nodes whose class is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data.own.table import short
from elasticgnn.data.task import NodeTask, feature_rows
from elasticgnn.features import SparseFeatures

FEWEST = 5  # nodes of each class, so that chance does not separate them
Row = NDArray[np.float32]


def leaking_columns(task: NodeTask) -> tuple[str, ...]:
    """A note that names columns by which alone the known classes can be told apart without error.

    Of two classes: all values of one lie above all of the other; of more: every class has one
    value of its own in the column, or one class has a value that no other has.
    """
    if task.feature_names is None or task.made_features:
        return ()
    counts = np.bincount(task.labels[task.labelled].numpy())
    if counts.min() < FEWEST:
        return ()
    low, high = class_ranges(task)
    if len(counts) == 2:
        leaking = (high[0] < low[1]) | (high[1] < low[0])
    else:
        leaking = (low == high).all(0) & (low.min(0) < low.max(0))
    found = [repr(short(task.feature_names[k])) for k in np.flatnonzero(leaking)]
    if not found:
        return ()
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return (
        f"WARNING: feature {', '.join(found[:3])}{more} alone tells the known classes apart "
        "without error: leave it out if it is made from the label",
    )


def class_ranges(task: NodeTask) -> tuple[Row, Row]:
    """The least and the largest value of each column among the known nodes of each class."""
    low, high = [], []
    for label in range(task.num_classes):
        rows = feature_rows(task.features, (task.labels == label).nonzero()[:, 0])
        if isinstance(rows, SparseFeatures):
            matrix = rows.to_scipy()
            low.append(matrix.min(axis=0).toarray().ravel())
            high.append(matrix.max(axis=0).toarray().ravel())
        else:
            low.append(rows.amin(0).numpy())
            high.append(rows.amax(0).numpy())
    return np.stack(low), np.stack(high)
