"""Class labels of any form: which are unknown, and the number of each class."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def plain_list(labels: Any) -> list[Any]:
    """Labels of any usual form as plain Python values."""
    values = labels.tolist() if hasattr(labels, "tolist") else labels
    return [value.item() if hasattr(value, "item") else value for value in values]


def is_unknown(label: Any) -> bool:
    """None, NaN and the number -1 stand for an unknown class."""
    return label is None or label != label or (not isinstance(label, str) and label == -1)


def number_known(labels: Any) -> tuple[list[Any], Tensor]:
    """The classes in order, and each node's number among them (n,), -1 where unknown."""
    names = plain_list(labels)
    classes = sorted({name for name in names if not is_unknown(name)}, key=natural)
    number = {name: position for position, name in enumerate(classes)}
    codes = [-1 if is_unknown(name) else number[name] for name in names]
    return classes, torch.tensor(codes, dtype=torch.int64)


def natural(label: Any) -> tuple[bool, float, str]:
    """Sort key: numbers by size, then words by letters."""
    try:
        return False, float(label), str(label)
    except (TypeError, ValueError):
        return True, 0.0, str(label)
