"""make mutants MINUTES=20: faults put into the code one at a time; do the tests find them?

The same faults on every machine, in an order drawn once; the record says which are done, and the
next run goes on. A first run of the tests notes which test comes by which line and how long it
takes. A fault is then tried with the tests of its line alone, the quick ones first, until one
fails, in a fork of a process that has loaded torch and all other libraries already. A fault whose
tests take ten times their usual processor time has no end, which the suite's time limit finds.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import time
from pathlib import Path
from typing import Any

from covering import ROOT, SECONDS, SOURCE, Covering, measured
from mutant_plugin import Faults
from trial import load_libraries, try_fault

from elasticgnn.files import write_whole

RECORD = ROOT / "results" / "reliability" / "mutants.json"
FOUND = ("killed", "no end")
TESTS = {  # below tests/
    "files/whole.py": "files",
    "files/output.py": "files cli/test_outputs.py",
    "problem/penalty.py": "problem operator/test_emp.py",
    "problem/penalties/base.py": "problem operator/test_emp.py",
    "problem/penalties/l21.py": "problem operator/test_emp.py",
    "problem/objective.py": "problem",
    "problem/certificate.py": "problem",
    "problem/step_sizes.py": "problem operator/test_emp.py",
    "operator/reference.py": "operator/test_emp.py",
    "operator/request.py": "operator/test_emp.py operator/test_routes.py",
    "operator/routes.py": "operator/test_routes.py",
    "solver/measure.py": "solver/test_solver_certificate.py solver/test_minimise.py",
    "solver/stopping.py": "solver/test_minimise.py solver/test_solver_certificate.py",
    "solver/units.py": "solver/test_solver_certificate.py solver/test_minimise.py",
    "graph/merge.py": "graph",
    "graph/checks.py": "graph",
    "graph/parts.py": "graph",
    "graph/slots.py": "graph",
    "data/splits.py": "data/test_splits.py",
    "data/npy.py": "data/test_hostile_files.py data/test_load.py",
    "data/npz.py": "data/test_hostile_files.py data/test_load.py",
    "data/safe_pickle.py": "data/test_hostile_files.py data/test_safe_pickle.py",
    "data/own/matrix_market.py": "data/test_matrix_market.py",
    "attack/budget.py": "attack/test_perturbation.py",
    "attack/constraints.py": "attack/test_perturbation.py attack/test_limits.py",
    "attack/perturbation.py": "attack/test_perturbation.py experiment/test_bad_studies.py",
    "training/plan.py": "training/test_fit.py",
    "training/record.py": "training/test_fit.py",
    "training/model_file.py": "training/test_model_file.py training/test_hostile_models.py",
    "training/summary.py": "training/test_classifier.py report/test_statistics.py",
    "experiment/setting.py": "experiment/test_setting.py experiment/test_bad_studies.py",
    "experiment/spec_values.py": "experiment/test_bad_studies.py",
    "experiment/record.py": "experiment/test_storing.py experiment/test_bad_studies.py",
    "experiment/space.py": "experiment/test_search.py experiment/test_bad_studies.py",
    "experiment/search.py": "experiment/test_search.py",
    "report/statistics.py": "report/test_statistics.py report/test_tables.py",
    "report/table.py": "report/test_tables.py report/test_page.py",
}
KEYS = ("file", "number", "line", "fault")


def all_faults() -> list[dict[str, Any]]:
    """Every fault of every part, in the order in which they are tried."""
    found = []
    for name in TESTS:
        faults = Faults()
        faults.visit(ast.parse((SOURCE / name).read_text("utf-8")))
        found += [
            {"file": name, "number": number, "line": line, "fault": what}
            for number, (line, what) in enumerate(faults.places)
        ]
    random.Random(0).shuffle(found)
    return found


def files_by_test(part: str) -> dict[str, list[str]]:
    """For every test file of the table (a folder's one by one) the files whose faults it finds."""
    found: dict[str, list[str]] = {}
    for file, text in TESTS.items():
        for each in (ROOT / "tests" / name for name in text.split()):
            if file.startswith(part):
                for path in sorted(each.glob("test_*.py")) if each.is_dir() else [each]:
                    found.setdefault(str(path.relative_to(ROOT)), []).append(file)
    return found


def tests_of(fault: dict[str, Any], covering: Covering) -> list[str]:
    """The tests that come by the line of a fault, quick ones first, of 20 s together."""
    names = covering.at(fault["file"], fault["line"])
    chosen, seconds = [], 0.0
    for name in sorted(names, key=lambda name: covering.seconds[name]):
        seconds += covering.seconds[name]
        if chosen and seconds > SECONDS:
            break
        chosen.append(name)
    return chosen


def judge(fault: dict[str, Any], covering: Covering) -> dict[str, Any]:
    """The fault with its outcome: killed, no end, survived, or not run by any test."""
    tests = tests_of(fault, covering)
    if not tests:
        return {**fault, "outcome": "not run"}
    usual = sum(covering.seconds[name] for name in tests)
    outcome = try_fault(SOURCE / fault["file"], fault["number"], tests, usual)
    return {**fault, "outcome": outcome}


def without_stale(rows: list[dict[str, Any]], faults: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose fault is still in the code at that place."""
    known = {tuple(fault[key] for key in KEYS) for fault in faults}
    return [row for row in rows if tuple(row[key] for key in KEYS) in known]


def write(path: Path, rows: list[dict[str, Any]], known: int) -> None:
    text = ",\n".join(map(json.dumps, rows))
    head = f'"known": {known}, "tried": {len(rows)}, "killed": {killed(rows)}'
    write_whole(path, f'{{{head}, "faults": [\n{text}\n]}}\n', make_folder=True)


def killed(rows: list[dict[str, Any]]) -> int:
    return sum(row["outcome"] in FOUND for row in rows)


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--minutes", type=float, default=20.0)
    given.add_argument("--part", default="", help="only files that begin so, such as data/")
    given.add_argument("--again", action="store_true", help="try again what was not killed")
    given.add_argument("--output", type=Path, default=RECORD)
    options = given.parse_args()
    end = time.monotonic() + 60 * options.minutes
    faults = all_faults()
    rows: list[dict[str, Any]] = []
    if options.output.exists():
        rows = without_stale(json.loads(options.output.read_text())["faults"], faults)
    if options.again:
        part = options.part  # verdicts of other parts stay
        rows = [row for row in rows if row["outcome"] in FOUND or not row["file"].startswith(part)]
    done = {tuple(row[key] for key in KEYS) for row in rows}
    load_libraries()
    covering = measured(files_by_test(options.part))
    for fault in faults:
        if time.monotonic() > end:
            break
        wanted = fault["file"].startswith(options.part)
        if wanted and tuple(fault[key] for key in KEYS) not in done:
            rows.append(judge(fault, covering))
            write(options.output, rows, len(faults))
    print(f"{killed(rows)} of {len(rows)} faults killed, {len(faults)} known; survivors:")
    for row in rows:
        if row["outcome"] not in FOUND:
            print(f"  {row['file']}:{row['line']} {row['fault']} ({row['outcome']})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
