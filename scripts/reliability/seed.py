"""What the fuzzer damages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Format:
    """A file name, its good content, and what reads it."""

    name: str
    content: bytes
    read: Callable[[Path], object]
