"""Arrays in numpy's own format, from files that may be damaged or made to annoy."""

from __future__ import annotations

import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = "fiub"  # kinds of plain numbers; complex ones would lose half of themselves
# What zipfile, zlib and numpy raise for a file that was damaged or made to annoy.
DAMAGE = (
    *(ValueError, TypeError, LookupError, EOFError, OSError, NotImplementedError, RuntimeError),
    *(MemoryError, OverflowError, SyntaxError, tokenize.TokenError, struct.error, zlib.error),
    zipfile.BadZipFile,
)


@contextmanager
def damage_refused(path: Path, rule: str) -> Iterator[None]:
    """Whatever numpy says of a damaged file becomes one ValueError that names it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # numpy on headers that Python 2 wrote
            yield
    except DAMAGE as error:
        raise ValueError(f"{path} must be {rule}, got: {error!r}") from None


def read_npy(path: Path) -> NDArray[Any]:
    """The numbers of a .npy file; nothing pickled is ever read."""
    with damage_refused(path, "a numpy .npy file"), path.open("rb") as file:
        values = read_array(file, path.stat().st_size)
    if values.dtype.kind not in NUMBERS:
        raise ValueError(f"{path} must hold real numbers, got {values.dtype}")
    return values


def read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """The array in `file` of `size` bytes; a header that promises more is refused unread."""
    check_header(file, size)
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def map_npy(path: Path) -> NDArray[Any]:
    """The numbers of a .npy file, left on the disk until they are asked for."""
    with damage_refused(path, "a numpy .npy file"):
        with path.open("rb") as file:
            check_header(file, path.stat().st_size)
        values: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    if values.dtype.kind not in NUMBERS:
        raise ValueError(f"{path} must hold real numbers, got {values.dtype}")
    return values


def check_header(file: IO[bytes], size: int) -> None:
    """Refuses objects, and a header that promises more than the file of `size` bytes has."""
    shape, dtype, start = read_header(file)
    if dtype.hasobject:
        raise ValueError("Python objects instead of numbers")
    if math.prod(shape) * dtype.itemsize > size - start:
        raise ValueError(f"shape {shape} of {dtype} in {size} bytes")


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, type, and where the numbers begin."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    return shape, dtype, file.tell()
