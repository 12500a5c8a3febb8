"""Can this path be written? Asked before the work, so that no result is lost at its end."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

PICTURES = (".svg", ".png", ".pdf")


def check_output(
    path: Path, name: str = "output", inputs: Iterable[Path | str | None] = ()
) -> None:
    """Refuses a path whose folder is absent or closed, or which is no regular file.

    A symbolic link is fine: it is replaced by the new file, what it leads to stays untouched.
    `inputs` are the files that are read for it: none of them may be lost to a slip of the hand.
    """
    if not path.name:
        raise ValueError(f"{name} must name a file, got {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"{name} must be in a folder that exists, got {path}")
    if path.exists() and not path.is_symlink() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or pipe"
        raise ValueError(f"{name} must be a regular file, got {kind}: {path}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ValueError(f"{name} must be in a folder one may write to, got {path}")
    if path.is_file() and not path.is_symlink() and not os.access(path, os.W_OK):
        raise ValueError(f"{name} must be a file one may write to, got {path}")
    for each in inputs:
        if each is not None and path.is_file() and Path(each).is_file() and path.samefile(each):
            raise ValueError(f"{name} must not be a file that is read, got {path}")


def check_apart(one: Path | None, other: Path | None, names: tuple[str, str]) -> None:
    """Refuses one place for two outputs, of which the second would take that of the first."""
    if one is not None and other is not None and one.resolve() == other.resolve():
        raise ValueError(f"{names[0]} and {names[1]} must be two files, got {one} for both")


def check_folder(path: Path, name: str = "output") -> None:
    """Refuses a folder that cannot be made or written to."""
    nearest = next(p for p in (path, *path.absolute().parents) if p.exists() or p.is_symlink())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise ValueError(f"{name} must be in a folder one may write to, got {path}")


def check_picture(path: Path, name: str = "output") -> None:
    """Refuses what `check_output` does, and a name whose ending is no format of a picture."""
    if path.suffix not in PICTURES:
        raise ValueError(f"{name} must end in one of {PICTURES}, got {path.name!r}")
    check_output(path, name)
