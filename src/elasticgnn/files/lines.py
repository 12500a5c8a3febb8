"""A file that grows line by line: after any stop it holds whole lines and at most one cut one."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from elasticgnn.files.whole import PERMISSIONS, errors_that_name


def append_line(path: Path, line: str) -> None:
    """Adds a line in one step; on a full disk the file stays as it was, and no link is followed.

    A last line that was cut off by a kill is left as it is: the new one begins behind it.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with errors_that_name(path):
        handle = os.open(path, flags, PERMISSIONS)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # several processes may write to one file
            end = os.fstat(handle).st_size
            cut = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
            write_or_undo(handle, end, ("\n" * cut + line + "\n").encode())
        finally:
            os.close(handle)


def write_or_undo(handle: int, end: int, data: bytes) -> None:
    """Writes all of `data` to the disk, or leaves the file with `end` bytes."""
    try:
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    except BaseException:
        os.ftruncate(handle, end)
        raise
