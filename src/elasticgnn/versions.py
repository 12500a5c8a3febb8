"""Versions of what computed a result."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def package_version(name: str, absent: str = "unknown") -> str:
    """The installed version of `name`, `absent` if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return absent


def package_versions(names: Iterable[str], absent: str = "unknown") -> dict[str, str]:
    """Python's version and that of each package."""
    found = {name: package_version(name, absent) for name in names}
    return {"python": platform.python_version(), **found}
