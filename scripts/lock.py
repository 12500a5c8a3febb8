"""make lock: requirements.lock from constraints.txt, with the SHA-256 of every file of each pin.

The digests are those that the package index publishes for the files of that very version, all
platforms included. torch has none: which build is right depends on the machine (processor or CUDA
version), and its project serves most of them from an index of its own.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.request import urlopen

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version
from pip._internal.models.index import PyPI  # the index of a pip that nobody configured

ROOT = Path(__file__).parents[1]
CONSTRAINTS, LOCK = ROOT / "constraints.txt", ROOT / "requirements.lock"
BY_MACHINE = ("torch",)
HEAD = """# Made by `make lock` from constraints.txt; not to be edited.
# torch is left out: its build differs by machine. Install it first, then
#   pip install --require-hashes --no-deps -r requirements.lock
"""


class Links(HTMLParser):
    """Names and SHA-256 of the files that a page of a package index links to."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href") or ""
        found = re.search(r"([^/#]+)#sha256=([0-9a-f]{64})$", address)
        if tag == "a" and found:
            self.files[found[1]] = found[2]


def configured_index() -> str:
    """The package index that this environment's pip asks."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.strip().rstrip("/") or PyPI.simple_url


def pins(text: str) -> dict[str, str]:
    """Version by name, of every pin that is locked."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    found = dict(line.split("==") for line in lines if line)
    return {name: version for name, version in found.items() if name not in BY_MACHINE}


def version_of(file: str) -> Version | None:
    """The version that a file name tells, None where it is no distribution."""
    try:
        if file.endswith(".whl"):
            return parse_wheel_filename(file)[1]
        return parse_sdist_filename(file)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def digests(name: str, version: str, index: str) -> list[str]:
    """The SHA-256 of every file of that version, sorted."""
    with urlopen(f"{index}/{canonicalize_name(name)}/", timeout=60) as answer:
        links = Links()
        links.feed(answer.read().decode())
    wanted = Version(version)
    return sorted({sha for file, sha in links.files.items() if version_of(file) == wanted})


def entry(name: str, version: str, index: str) -> str:
    """One requirement with its hashes, as pip reads them."""
    found = digests(name, version, index)
    if not found:
        raise ValueError(f"{name}=={version} must have files at {index}, got none")
    return " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{sha}" for sha in found)])


def known_entries(path: Path) -> dict[str, str]:
    """The entries of an earlier lock by their pin; files of a released version never change."""
    text = path.read_text() if path.exists() else ""
    entries = re.findall(r"^\S+==\S+(?: \\\n    --hash=\S+)+$", text, re.MULTILINE)
    return {found.split()[0]: found for found in entries}


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--fresh", action="store_true", help="ask for every pin again")
    given.add_argument("--index", help="a package index; default: the one that pip asks")
    given.add_argument("--output", type=Path, default=LOCK)
    options = given.parse_args()
    wanted = pins(CONSTRAINTS.read_text())
    known = {} if options.fresh else known_entries(options.output)
    index = options.index or configured_index()

    def entry_of(pin: tuple[str, str]) -> str:
        return known.get("==".join(pin)) or entry(*pin, index)

    with ThreadPoolExecutor(8) as pool:
        lines = list(pool.map(entry_of, wanted.items()))
    options.output.write_text(HEAD + "\n".join(lines) + "\n")
    print(f"{len(lines)} packages locked in {options.output}")


if __name__ == "__main__":
    main()
