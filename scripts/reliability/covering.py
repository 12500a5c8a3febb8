"""Which test comes by which line, and how long each test takes: measured once, kept in build/."""

from __future__ import annotations

import ast
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage
from sample import FOLDERS, ROOT, SOURCE

KEPT = ROOT / "build" / "mutants"
SECONDS = 10.0  # of tests for one fault
FILE_SECONDS = 40.0  # of tests of one file; those behind are not used


@dataclass
class Covering:
    """lines: tests by file and line; seconds: of every test that passes."""

    lines: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, measured: dict[str, Any]) -> None:
        self.seconds |= measured["seconds"]
        for file, places in measured["lines"].items():
            for line, names in places.items():
                self.lines.setdefault(file, {}).setdefault(line, []).extend(names)

    def tests_of(self, fault: dict[str, Any], first: list[str]) -> list[str]:
        """Those that run the line of a fault, of 10 s together: `first`, then the quick ones.

        All tests of the file for what runs while it is loaded.
        """
        here = self.lines.get(fault["file"], {})
        names = set(here.get(str(fault["line"]), ()))
        if fault["while_loading"]:
            names = {name for tests in here.values() for name in tests}
        chosen, seconds = [], 0.0
        for name in sorted(names, key=lambda name: (name not in first, self.seconds[name])):
            seconds += self.seconds[name]
            if chosen and seconds > SECONDS:
                break
            chosen.append(name)
        return chosen


class Watch:
    """A pytest plugin: each test is a context of the coverage; who failed, how long each took."""

    def __init__(self, coverage: Coverage | None = None) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self.coverage:
            self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        found = yield
        self.seconds[item.nodeid] = time.process_time() - began
        return found

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kept(test: Path) -> Path:
    """Where the measurement of a test file is kept, by its content."""
    return KEPT / f"{test.parent.name}-{test.stem}-{sha(test)[:12]}.json"


def known(test: Path, files: set[str]) -> dict[str, Any] | None:
    """An earlier measurement, unless one of `files` has changed since."""
    if not kept(test).exists():
        return None
    found: dict[str, Any] = json.loads(kept(test).read_text())
    old = {name: value for name, value in found["sources"].items() if name in files}
    return found if all(sha(SOURCE / name) == old[name] for name in old) else None


def measure(test: Path, items: list[pytest.Item], run: Any) -> int:
    """Runs the items of one test file under coverage and keeps what each came by."""
    coverage = Coverage(data_file=None, include=[f"{SOURCE / name}/*" for name in FOLDERS])
    watch = Watch(coverage)
    coverage.start()
    run(items, watch, lambda: sum(watch.seconds.values()) > FILE_SECONDS)
    coverage.stop()
    good = {name: seconds for name, seconds in watch.seconds.items() if name not in watch.failed}
    lines = by_line(coverage, set(good))
    sources = {name: sha(SOURCE / name) for name in lines}
    KEPT.mkdir(parents=True, exist_ok=True)
    content = {"failed": watch.failed, "seconds": good, "sources": sources, "lines": lines}
    kept(test).write_text(json.dumps(content))
    return 0


def by_line(coverage: Coverage, good: set[str]) -> dict[str, dict[int, list[str]]]:
    """Tests by file and line; all lines of a statement count as one."""
    found: dict[str, dict[int, list[str]]] = {}
    data = coverage.get_data()
    for path in data.measured_files():
        contexts = data.contexts_by_lineno(path)
        lines: dict[int, list[str]] = {}
        for span in statements(ast.parse(Path(path).read_text("utf-8"))):
            names = {name for line in span for name in contexts.get(line, ())} & good
            lines |= {line: sorted(names | set(lines.get(line, ()))) for line in span if names}
        found[str(Path(path).relative_to(SOURCE))] = lines
    return found


def statements(tree: ast.Module) -> Iterator[range]:
    """The lines of every statement, those of its body left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            yield range(node.lineno, max(end, node.lineno + 1))
