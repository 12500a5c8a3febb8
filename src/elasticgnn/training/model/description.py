"""Can a model file's description be true? A digest shows damage, not wrong values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

SIZES = ("num_features", "members", "hops", "averages_labels")
LISTS = ("class_names", "nodes", "feature_names", "categories")


def check_description(about: Mapping[str, Any]) -> None:
    """Refuses values that would give wrong probabilities or numbers, or none."""
    for name in SIZES:
        if type(about.get(name, 0)) is not int:  # 5.5 would become 5, and True 1
            raise ValueError(f"{name} must be a whole number, got {about[name]!r}")
    for name in LISTS:
        check_names(name, about.get(name))
    if not all(isinstance(value, str) for value in dict(about["data"]).values()):
        raise ValueError("data must hold texts")
    check_numbers("temperature", [about.get("temperature", 1.0)], 1, is_positive)
    check_numbers("bias", about.get("bias"), len(about["class_names"]))
    check_columns(about)
    if about.get("unit") is not None:
        check_numbers("unit", about["unit"], 2)
        check_numbers("unit", about["unit"][1:], 1, is_positive)
    if "conformal" in about["facts"]:
        scores = about["facts"]["conformal"]
        check_numbers("conformal", scores, len(scores), is_number)


def check_columns(about: Mapping[str, Any]) -> None:
    """Refuses names, medians, centres and scales of another number of columns."""
    width = about["num_features"]
    names = about.get("feature_names")
    if names is not None and len(names) != width:
        raise ValueError(f"feature_names must be {width}, got {len(names)}")
    check_numbers("fill", about.get("fill"), width)
    preparation = about.get("preparation")
    if preparation is not None:
        check_numbers("center", preparation["center"], width)
        check_numbers("scale", preparation["scale"], width, is_positive)


def check_names(name: str, values: Any) -> None:
    """Refuses what is no list of names: texts, or whole numbers."""
    if values is None:
        return
    if not isinstance(values, list) or not all(type(value) in (str, int) for value in values):
        raise ValueError(f"{name} must be a list of names")


def is_number(value: Any) -> bool:
    """Whether it is a number, infinity included."""
    return type(value) in (int, float) and value == value


def is_finite(value: Any) -> bool:
    """Whether it is a number and finite."""
    return is_number(value) and math.isfinite(value)


def is_positive(value: Any) -> bool:
    """Whether it is a finite number above 0."""
    return is_finite(value) and value > 0


def check_numbers(
    name: str, values: Any, count: int, is_good: Callable[[Any], bool] = is_finite
) -> None:
    """Refuses another count, and values that are not `is_good`."""
    if values is None:
        return
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"{name} must be a list of {count} numbers")
    bad = [value for value in values if not is_good(value)]
    if bad:
        raise ValueError(f"{name} must hold {is_good.__name__.removeprefix('is_')} values")
