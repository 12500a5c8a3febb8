"""Values of a study file: of the right kind, or refused by name."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
# what Python says of a value of the wrong kind, before anyone has looked at it
WRONG = (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)


@contextmanager
def study_errors(name: str) -> Iterator[None]:
    """Whatever is wrong in a study becomes one ValueError that names it."""
    try:
        yield
    except WRONG as error:
        missing = f"no {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"study {name} must be a readable study, got: {missing}") from None


def checked_name(value: Any, what: str) -> str:
    """A name that may be part of a file name."""
    if not isinstance(value, str) or not NAME.fullmatch(value) or ".." in value:
        raise ValueError(f"{what} must be letters, digits and . _ + - only, got {value!r}")
    return value


def texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The list of texts `key`, empty if there is none."""
    values = table.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{key} must be a list of texts, got {values!r}")
    return tuple(values)


def names(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The list of names `key`: one at least, none twice."""
    found = tuple(checked_name(value, key) for value in texts(table, key))
    if not found or len(set(found)) != len(found):
        raise ValueError(f"{key} must be a list of different names, got {list(found)!r}")
    return found


def number(value: Any, what: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{what} must be a finite number, got {value!r}")
    return value


def numbers(table: Mapping[str, Any], key: str, default: list[float]) -> tuple[float, ...]:
    """The list of numbers under a key; ValueError for anything else."""
    values = table.get(key, default)
    if not isinstance(values, list) or not values:
        raise ValueError(f"{key} must be a list of numbers, got {values!r}")
    return tuple(float(number(value, key)) for value in values)
