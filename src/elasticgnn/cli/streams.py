"""Standard streams that are closed, or that cannot show every character."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO


def prepare_streams() -> None:
    """Makes the three standard streams fit to be written to, whatever the shell made of them.

    A closed one leads nowhere from now on: else the next file that is opened would take its number,
    and a library that writes to standard error would write into it. What the terminal's encoding
    lacks is written as an escape sequence.
    """
    for handle in range(3):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
    if sys.stdout is None:
        sys.stdout = nowhere()
    if sys.stderr is None:
        sys.stderr = nowhere()
    if isinstance(sys.stdout, TextIOWrapper):  # others are not the shell's
        sys.stdout.reconfigure(errors="backslashreplace")


def nowhere() -> TextIO:
    """A stream that lasts as long as the process."""
    return Path(os.devnull).open("w", encoding="utf-8")
