"""Which faults there are, and which of them are tried: the same draw on every machine."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from faulty import Faults

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "elasticgnn"
FOLDERS = (
    *(
        "problem",
        "graph",
        "operator",
        "solver",
        "training",
        "data",
        "attack",
        "experiment",
        "report",
    ),
)
WITHOUT = ("operator/triton/",)  # Triton reads a kernel's source from its file, not its code
KEYS = ("file", "text", "fault", "nth")


def known_faults(folder: str) -> list[dict[str, Any]]:
    """Every fault of a folder, in the order of the draw.

    A fault is known by the text of its line, so that it stays the same when lines move; the order
    is that of a digest, so that new code does not change what was drawn before.
    """
    found = []
    for path in sorted((SOURCE / folder).rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if not name.startswith(WITHOUT):
            found += list(faults_of(path, name))
    return sorted(found, key=lambda fault: digest(fault))


def faults_of(path: Path, name: str) -> Iterator[dict[str, Any]]:
    """The faults of one file, numbered as `Faults` counts them."""
    source = path.read_text("utf-8")
    lines = source.splitlines()
    faults = Faults()
    faults.visit(ast.parse(source))
    seen = Counter[tuple[str, str]]()
    for number, (line, what) in enumerate(faults.places):
        text = lines[line - 1].strip()
        fault = {"file": name, "text": text, "fault": what, "nth": seen[text, what]}
        loading = faults.while_loading[number]
        yield {**fault, "number": number, "line": line, "while_loading": loading}
        seen[text, what] += 1


def identity(fault: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(fault[key] for key in KEYS)


def digest(fault: dict[str, Any]) -> str:
    return hashlib.sha256(repr(identity(fault)).encode()).hexdigest()


def drawn(folder: str, count: int) -> list[dict[str, Any]]:
    """The faults of a folder that are tried."""
    return known_faults(folder)[:count]
