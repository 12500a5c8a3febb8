"""A folder of several files, each written whole; a call that was killed is finished by the next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from elasticgnn.files.output import check_folder
from elasticgnn.files.whole import write_whole


def fill_folder(path: Path, files: Mapping[str, bytes], name: str = "output") -> None:
    """Writes the files, by their paths in the folder, which must be new or empty.

    What an earlier call with the same files left there is no obstacle; nothing is replaced.
    """
    check_folder(path, name)
    there = {str(p.relative_to(path)): p for p in path.rglob("*") if not is_real_folder(p)}
    for key, old in sorted(there.items()):
        if old.is_symlink() or not old.is_file() or old.read_bytes() != files.get(key):
            raise ValueError(f"{name} must be new or empty, got {path} with {key}")
    for key, content in files.items():
        if key not in there:
            write_whole(path / key, content, make_folder=True)


def is_real_folder(path: Path) -> bool:
    """A folder itself, not a link to one."""
    return path.is_dir() and not path.is_symlink()
