"""Which test comes by which line, and how long each test takes: measured once, kept in build/."""

from __future__ import annotations

import ast
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "elasticgnn"
KEPT = ROOT / "build" / "mutants"
IMPORT = "import"  # the context of what runs before any test
SECONDS = 20.0  # of tests for one fault


@dataclass(frozen=True)
class Covering:
    """lines: tests by file and line; seconds: of every test."""

    lines: dict[str, dict[str, list[str]]]
    seconds: dict[str, float]

    def at(self, file: str, line: int) -> list[str]:
        """The tests that ran this line; all tests of the file if it ran while being imported."""
        here = self.lines.get(file, {})
        names = set(here.get(str(line), []))
        if IMPORT in names:
            names = {name for tests in here.values() for name in tests}
        return sorted(names - {IMPORT})


class Watch:
    """A pytest plugin: each test is a context of the coverage, and its seconds are noted."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        found = yield
        self.seconds[item.nodeid] = time.process_time() - began
        self.coverage.switch_context("")
        return found


def measured(files_by_test: dict[str, list[str]]) -> Covering:
    """What each test file covers of its files, in a fork; from build/ where all are unchanged."""
    lines: dict[str, dict[str, list[str]]] = {}
    seconds: dict[str, float] = {}
    for name, files in files_by_test.items():
        found = covered_by(name, files)
        seconds |= found["seconds"]
        for file, places in found["lines"].items():
            for line, names in places.items():
                lines.setdefault(file, {}).setdefault(line, []).extend(names)
    return Covering(lines, seconds)


def covered_by(test: str, files: list[str]) -> dict[str, Any]:
    """Lines and seconds of one test file, kept under a digest of everything that matters."""
    from trial import in_fork

    texts = [ROOT / test, *(SOURCE / file for file in files)]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in texts)).hexdigest()[:16]
    kept = KEPT / f"{Path(test).stem}-{digest}.json"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        code = in_fork(lambda: measure(test, files, kept), 1200)
        if code != 0:
            raise RuntimeError(f"{test} must pass without a fault, got exit code {code}")
    found: dict[str, Any] = json.loads(kept.read_text())
    return found


def measure(test: str, files: list[str], output: Path) -> int:
    """Runs one test file under coverage and writes what each test came by."""
    from trial import run_pytest

    coverage = Coverage(data_file=None, include=[str(SOURCE / file) for file in files])
    watch = Watch(coverage)
    coverage.start()
    code = run_pytest([test], [watch])
    coverage.stop()
    output.write_text(json.dumps({"seconds": watch.seconds, "lines": by_line(coverage)}))
    return code


def by_line(coverage: Coverage) -> dict[str, dict[int, list[str]]]:
    """Tests by file and line; all lines of a statement count as one."""
    found: dict[str, dict[int, list[str]]] = {}
    data = coverage.get_data()
    for path in data.measured_files():
        contexts = data.contexts_by_lineno(path)
        lines: dict[int, list[str]] = {}
        for span in statements(ast.parse(Path(path).read_text("utf-8"))):
            names = {name or IMPORT for line in span for name in contexts.get(line, [])}
            lines |= {line: sorted(names | set(lines.get(line, []))) for line in span if names}
        found[str(Path(path).relative_to(SOURCE))] = lines
    return found


def statements(tree: ast.Module) -> Iterator[range]:
    """The lines of every statement, those of its body left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            yield range(node.lineno, max(end, node.lineno + 1))
