"""The one way in which commands print: no name from a file can steer the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from elasticgnn.files import visible


def say(text: str = "", *, file: TextIO | None = None, end: str = "\n") -> None:
    r"""Prints `text` with its control characters written out (\x1b), at once."""
    print(visible(text), end=end, file=file or sys.stdout, flush=True)


def say_exactly(text: str) -> None:
    """Prints a table for other programs as it is; on a terminal control characters are shown."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def say_notes(notes: Iterable[str]) -> None:
    """Prints how files were read, beside the answer: other programs read only that."""
    for note in notes:
        say(f"note: {note}", file=sys.stderr)
