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
    """None, NaN, pandas' NA and the number -1 stand for an unknown class."""
    if type(label).__name__ == "NAType":  # it refuses to be compared
        return True
    return label is None or label != label or (not isinstance(label, str) and label == -1)


def number_known(labels: Any) -> tuple[list[Any], Tensor]:
    """The classes in order, and each node's number among them (n,), -1 where unknown."""
    names = plain_list(labels)
    check_kind([name for name in names if not is_unknown(name)])
    classes = sorted({name for name in names if not is_unknown(name)}, key=natural)
    number = {name: position for position, name in enumerate(classes)}
    codes = [-1 if is_unknown(name) else number[name] for name in names]
    return classes, torch.tensor(codes, dtype=torch.int64)


def check_kind(known: list[Any]) -> None:
    """Refuses bytes, and texts beside numbers: an array of classes would turn all into texts."""
    coded = next((name for name in known if isinstance(name, bytes)), None)
    if coded is not None:
        raise ValueError(f"labels must be texts or numbers, got the bytes {coded!r}")
    text = next((name for name in known if isinstance(name, str)), None)
    other = next((name for name in known if not isinstance(name, str)), None)
    if text is not None and other is not None:
        raise ValueError(f"labels must be all texts or all numbers, got {text!r} and {other!r}")


def natural(label: Any) -> tuple[bool, float, str]:
    """Sort key: numbers by size, then words by letters."""
    try:
        return False, float(label), str(label)
    except (TypeError, ValueError):
        return True, 0.0, str(label)
