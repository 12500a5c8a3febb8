"""Fetches data files from the projects that published them, and trusts none of the bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from elasticgnn.data.files import ROOT_VARIABLE, check_file, data_folder, known_digests
from elasticgnn.extras import optional_imports
from elasticgnn.files import check_output, whole_file

GITHUB = "https://raw.githubusercontent.com"
ORIGINS = {
    "planetoid": f"{GITHUB}/kimiyoung/planetoid/master/data",
    "gnn-benchmark": f"{GITHUB}/shchur/gnn-benchmark/master/data/npz",
    "nettack": f"{GITHUB}/danielzuegner/gnn-meta-attack/master/data",
    "meta-attacked": f"{GITHUB}/ChandlerBang/Pro-GNN/master/meta",
    "nettack-attacked": f"{GITHUB}/ChandlerBang/Pro-GNN/master/nettack",
    "prognn-splits": f"{GITHUB}/ChandlerBang/Pro-GNN/master/splits",
}
TIMEOUT_SECONDS = 30
BLOCK_BYTES = 1 << 18
LARGEST_FILE = 100 << 20  # the largest data file has 31 MB; an endless answer ends here

Report = Callable[[int, int | None], None]  # bytes so far, bytes expected if known


def require_files(
    names: tuple[str, ...], root: str | Path | None = None, mirror: str | None = None
) -> dict[str, Path]:
    """The path of each file, checked; what is missing in the data folder is downloaded."""
    folder = data_folder(root)
    found = {name: folder / name for name in names}
    missing = [name for name in names if not found[name].exists()]
    if missing:
        fetch_files(missing, folder, mirror)
    for name, path in found.items():
        if name not in missing:
            check_file(path, name)
    return found


def fetch_files(names: list[str], folder: Path, mirror: str | None = None) -> None:
    """Downloads the files into `folder`, with a progress bar on the error stream."""
    with optional_imports():
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        for name in names:
            row = bar.add_task(Path(name).name, total=None)

            def report(done: int, total: int | None, row: Any = row) -> None:
                bar.update(row, completed=done, total=total)

            fetch_file(name, folder, mirror, report)


def file_address(name: str, mirror: str | None = None) -> str:
    """Where `name` is published: its project, or the same layout below `mirror`."""
    if mirror is not None:
        if not mirror.startswith(("http://", "https://")):
            raise ValueError(f"mirror must be an http(s) address, got {mirror!r}")
        return f"{mirror.rstrip('/')}/{name}"
    part, _, file = name.partition("/")
    return f"{ORIGINS[part]}/{file}"


def fetch_file(
    name: str, folder: Path, mirror: str | None = None, report: Report | None = None
) -> Path:
    """The downloaded file: it appears under its name only when its checksum is right."""
    target = folder / name
    address = file_address(name, mirror)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        check_output(target, "data file")
    except (OSError, ValueError) as error:
        raise OSError(f"{folder} must be a folder one can write to, got: {error}") from None
    with whole_file(target) as file:
        digest = download(address, file, report)
        if digest != known_digests()[name]:
            raise ValueError(
                f"{address} must have SHA-256 {known_digests()[name]}, got {digest}: nothing kept"
            )
    return target


def download(address: str, file: IO[bytes], report: Report | None = None) -> str:
    """Copies the bytes at `address` into `file`; their SHA-256 in hex."""
    digest = hashlib.sha256()
    done = 0
    try:
        with urlopen(address, timeout=TIMEOUT_SECONDS) as answer:
            length = answer.headers.get("Content-Length")
            total = int(length) if length else None
            while block := answer.read(BLOCK_BYTES):
                file.write(block)
                digest.update(block)
                done += len(block)
                if done > LARGEST_FILE:
                    raise OSError(f"{address} must be at most {LARGEST_FILE} bytes, got more")
                if report is not None:
                    report(done, total)
    except HTTPError as error:
        raise OSError(f"{address} must be there to download, got HTTP {error.code}") from None
    except (URLError, TimeoutError, HTTPException, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error or type(error).__name__
        raise OSError(
            f"could not download {address} ({reason}): no network? Put the file into the data "
            f"folder by hand and name that folder in {ROOT_VARIABLE} or --data-root"
        ) from None
    if total is not None and done != total:
        raise OSError(f"{address} must give {total} bytes, got {done}: the transfer broke off")
    return digest.hexdigest()
