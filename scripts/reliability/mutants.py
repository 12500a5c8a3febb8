"""make mutants MINUTES=20: faults put into the code one at a time; do the tests find them?

Forty faults of each folder, the same on every machine; the record says which are done, and the
next run goes on. Each test file is run once under coverage, which tells the tests that come by a
line and how long they take. A fault is then tried with the tests of its line alone, those that
found another fault of the file first, then the quick ones, until one fails that passes without the
fault. A fault whose tests take ten times their usual processor time has no end, which the suite's
time limit finds; so has one that waits. What a busy machine ends is no kill.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import json
import os
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from covering import KEPT, Covering, kept, known, measure
from faulty import loaded_functions
from sample import FOLDERS, ROOT, SOURCE, drawn, identity, known_faults
from trial import collect, in_fork, load_libraries, run_items, try_in_fresh, try_in_warm

from elasticgnn.files import write_whole

RECORD = ROOT / "results" / "reliability" / "mutants.json"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
FOUND = ("killed", "no end")
MISSED = ("survived", "not run", "unclear")
UNWRITTEN = ("number", "while_loading")  # what the code tells
COUNT = 40  # of each folder
MEASURING = 400.0  # processor seconds for one test file under coverage
BESIDES = {  # test folders and files that come by a folder's code, besides its own
    "graph": "nn/test_device_input.py nn/test_compiled_options.py training/test_classifier.py",
    "problem": "operator/test_emp.py",
    "operator": "problem nn/test_emp.py",
}
Fault = dict[str, Any]


def test_files(folder: str) -> list[Path]:
    """The test files that are asked about the faults of a folder."""
    places = [ROOT / "tests" / name for name in (folder, *BESIDES.get(folder, "").split())]
    return [
        path
        for place in places
        for path in (sorted(place.glob("test_*.py")) if place.is_dir() else [place])
    ]


class Record:
    """The faults with their outcomes, written whenever one is added."""

    def __init__(self, path: Path, count: int, open_again: tuple[str, ...] = ()) -> None:
        self.path = path
        self.known = {folder: len(known_faults(folder)) for folder in FOLDERS}
        self.drawn = [fault for folder in FOLDERS for fault in drawn(folder, count)]
        self.open_again = open_again  # outcomes that are not relied on
        self.takes_new = True
        self.own: dict[tuple[Any, ...], Fault] = {}  # tried by this process
        self.rows = self.read()

    def read(self) -> dict[tuple[Any, ...], Fault]:
        """Outcomes of the file for the faults drawn: for each whose line is as it was."""
        old = json.loads(self.path.read_text())["faults"] if self.path.exists() else []
        outcomes = {identity(row): row for row in old}
        names = map(identity, self.drawn)
        pairs = zip(names, self.drawn, strict=True)
        return {name: outcomes[name] | fault for name, fault in pairs if name in outcomes}

    def todo(self, folder: str) -> list[Fault]:
        drawn_here = [each for each in self.drawn if each["file"].startswith(f"{folder}/")]
        return [fault for fault in drawn_here if self.is_open(identity(fault))]

    def is_open(self, name: tuple[Any, ...]) -> bool:
        """Whether the fault is to be tried: not tried yet, or asked for again."""
        if name in self.own:
            return False
        if name not in self.rows:
            return self.takes_new
        return self.rows[name]["outcome"] in self.open_again

    def finders(self, file: str) -> list[str]:
        """Tests that found faults of this file."""
        return [row["test"] for row in self.rows.values() if row["file"] == file and "test" in row]

    def add(self, fault: Fault, outcome: str, test: str) -> None:
        row = fault | {"outcome": outcome} | ({"test": test} if test else {})
        self.own[identity(fault)] = row
        self.write()

    def write(self) -> None:
        """Adds what this process tried to what others, at work on other folders, have written."""
        KEPT.mkdir(parents=True, exist_ok=True)
        with (KEPT / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.rows = self.rows | self.read() | self.own
            self.write_rows()

    def write_rows(self) -> None:
        """Survivors that are equivalent by `equivalent.toml` are written with the reason."""
        reasons = equivalent()
        rows = [self.rows[identity(each)] for each in self.drawn if identity(each) in self.rows]
        rows = [
            row | {"outcome": "equivalent", "reason": reasons[identity(row)]}
            if row["outcome"] not in FOUND and identity(row) in reasons
            else row
            for row in rows
        ]
        counts = {what: sum(row["outcome"] == what for row in rows) for what in OUTCOMES}
        head = {"known": sum(self.known.values()), "drawn": len(self.drawn), "tried": len(rows)}
        text = ",\n".join(
            json.dumps({k: v for k, v in row.items() if k not in UNWRITTEN}) for row in rows
        )
        lines = f'"faults": [\n{text}\n]}}\n'
        write_whole(self.path, json.dumps(head | counts)[:-1] + ", " + lines, make_folder=True)


OUTCOMES = (*FOUND, *MISSED, "equivalent")


def equivalent() -> dict[tuple[Any, ...], str]:
    """The reasons why faults change nothing that can be seen, by hand."""
    faults = tomllib.loads(EQUIVALENT.read_text())["fault"] if EQUIVALENT.exists() else []
    return {identity({"nth": 0} | each): each["reason"] for each in faults}


def try_all_in_warm(folder: str, tests: list[Path], record: Record, end: float) -> Covering:
    """Tries a folder's faults in forks of one process that has collected its tests.

    That process is a fork itself: this one stays without our code.
    """
    faults = record.todo(folder)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        with os.fdopen(theirs, "w", buffering=1) as answers:
            collect(
                list(map(str, tests)),
                lambda items: warm_work(items, faults, record, end, answers),
            )
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answers:
        for line in answers:
            number, outcome, test = json.loads(line)
            record.add(faults[number], outcome, test)
    os.waitpid(child, 0)
    return covering_of(tests)


def warm_work(
    items: list[pytest.Item], faults: list[Fault], record: Record, end: float, answers: Any
) -> None:
    """Measures what was not measured, tries each fault, and tells what came of it."""
    covering = Covering()
    files = {fault["file"] for fault in faults}
    by_name = {item.nodeid: item for item in items}
    for test, own in by_file(items).items():
        if known(test, files) is None:
            in_fork(lambda test=test, own=own: measure(test, own, run_items), MEASURING)
        covering.add(known(test, files) or {"seconds": {}, "lines": {}})
    functions = loaded_functions(SOURCE)
    gc.freeze()  # else every fork copies what its first collection looks at
    finders: dict[str, list[str]] = {}
    for number, fault in enumerate(faults):
        if time.monotonic() > end:
            break
        file = fault["file"]
        first = [*finders.get(file, []), *record.finders(file)]
        tests = [name for name in covering.tests_of(fault, first) if name in by_name]
        if not tests or fault["while_loading"]:
            continue
        usual = sum(covering.seconds[name] for name in tests)
        chosen = [by_name[name] for name in tests]
        outcome, test = try_in_warm(SOURCE / file, fault["number"], functions, chosen, usual)
        if outcome in FOUND:
            finders.setdefault(file, []).append(test)
            answers.write(json.dumps([number, outcome, test]) + "\n")


def by_file(items: list[pytest.Item]) -> dict[Path, list[pytest.Item]]:
    """Tests by their file, those marked slow left out."""
    found: dict[Path, list[pytest.Item]] = {}
    for item in items:
        own = found.setdefault(item.path, [])
        if item.get_closest_marker("slow") is None:
            own.append(item)
    return {path: own for path, own in found.items() if own}


def covering_of(tests: list[Path]) -> Covering:
    covering = Covering()
    for test in tests:
        if kept(test).exists():
            covering.add(json.loads(kept(test).read_text()))
    return covering


def try_all_in_fresh(folder: str, record: Record, covering: Covering, end: float) -> None:
    """Tries what is left, or survived so far, in modules loaded with the fault."""
    for fault in record.todo(folder):
        if time.monotonic() > end:
            return
        file = fault["file"]
        tests = covering.tests_of(fault, record.finders(file))
        if not tests:
            record.add(fault, "not run", "")
            continue
        usual = sum(covering.seconds[name] for name in tests)
        record.add(fault, *try_in_fresh(SOURCE / file, fault["number"], tests, usual))


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--minutes", type=float, default=20.0)
    given.add_argument("--folder", choices=FOLDERS, action="append", help="only this one")
    given.add_argument("--again", action="store_true", help="try again what was not killed")
    given.add_argument("--anew", action="store_true", help="try everything again")
    given.add_argument(
        "--tests", type=Path, nargs="+", default=[], help="with --again: ask only these"
    )
    given.add_argument("--count", type=int, default=COUNT, help="faults of each folder")
    given.add_argument("--output", type=Path, default=RECORD)
    options = given.parse_args()
    end = time.monotonic() + 60 * options.minutes
    open_again = OUTCOMES if options.anew else MISSED if options.again else ()
    record = Record(options.output, options.count, open_again)
    record.takes_new = not options.tests  # a few tests say nothing of a fault that is new
    folders = [folder for folder in options.folder or FOLDERS if record.todo(folder)]
    if folders and options.minutes > 0:  # 0: only apply the reasons that were added
        load_libraries()
    for folder in folders:
        if time.monotonic() < end:
            tests = [path.resolve() for path in options.tests] or test_files(folder)
            covering = try_all_in_warm(folder, tests, record, end)
            try_all_in_fresh(folder, record, covering, end)
    record.write()
    show(json.loads(options.output.read_text()), print)
    return 0


def show(record: dict[str, Any], say: Callable[[str], None]) -> None:
    killed = sum(record[what] for what in FOUND)
    say(f"{killed} of {record['tried']} faults killed, {record['equivalent']} equivalent")
    for row in record["faults"]:
        if row["outcome"] in MISSED:
            say(f"  {row['file']}:{row['line']} {row['fault']} ({row['outcome']}): {row['text']}")


if __name__ == "__main__":
    raise SystemExit(main())
