"""Where the files of the data sets are, and whether they are the right ones."""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path

from elasticgnn.files import file_digest

ROOT_VARIABLE = "ELASTICGNN_DATA"


def data_folder(root: str | Path | None = None) -> Path:
    """The folder of data files: `root`, else $ELASTICGNN_DATA, else the user's cache folder."""
    chosen = root or os.environ.get(ROOT_VARIABLE)
    if chosen:
        folder = Path(chosen).expanduser()
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"data root must be a folder, got the file {folder}")
        return folder
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache_home) / "elasticgnn"


@cache
def known_digests() -> dict[str, str]:
    """SHA-256 of every file of the data sets, by its path in the data folder."""
    text = (package_files("elasticgnn.data") / "SHA256SUMS").read_text()
    lines = (line.split("  ", 1) for line in text.splitlines() if line)
    return {name: digest for digest, name in lines}


def file_state(path: Path, name: str) -> str:
    """Whether the file is "ok", "different" from the data file `name`, or "missing"."""
    if not path.is_file():
        return "missing"
    return "ok" if file_digest(path) == known_digests()[name] else "different"


def check_file(path: Path, name: str) -> None:
    """Refuses a file whose bytes are not those of the data file `name`."""
    expected, found = known_digests()[name], file_digest(path)
    if found != expected:
        raise ValueError(
            f"{path} must have SHA-256 {expected}, got {found}: delete it and fetch it again"
        )
