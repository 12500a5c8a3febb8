"""The campaigns of scripts/reliability, cut down: they run, and they can fail."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "scripts" / "reliability"


def load(name: str, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_damaged_files_of_every_format_are_read_or_refused(monkeypatch):
    fuzz = load("fuzz", monkeypatch)
    made = fuzz.formats()
    fuzz.warm_up(made.values())  # every good file is read
    for kind in made:
        counts, failures = fuzz.run_batch(kind, made[kind], 10_000_000, 40)  # not in the record
        assert failures == []
        assert counts["read"] + counts["refused"] == 40


def run_a_process(_: Path) -> None:
    subprocess.run(["true"], check=True)


def leave(_: Path) -> None:
    os._exit(0)


def raise_key_error(_: Path) -> None:
    raise KeyError("x")


def refuse(_: Path) -> None:
    raise ValueError("refused")


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (raise_key_error, "traceback KeyError: 'x'"),
        (refuse, "refused"),
        (lambda _: time.sleep(9), "slow"),
        (run_a_process, "code subprocess.Popen"),
        (leave, "crash"),
        (lambda _: b"x" * (300 << 20), "large"),
        (lambda _: None, "read"),
    ],
)
def test_the_fuzzer_finds_what_it_looks_for(monkeypatch, read, expected):
    fuzz = load("fuzz", monkeypatch)
    monkeypatch.setattr(fuzz, "SECONDS", 1 if expected == "slow" else 60)
    counts, failures = fuzz.run_batch("fake", fuzz.Format("f", b"x", read), 0, 1)
    assert counts == {expected.split()[0]: 1}
    harmless = expected in ("read", "refused")
    assert failures == ([] if harmless else [f"fake 0: {expected}"])


def test_a_fault_that_is_put_in_is_there(tmp_path):
    source = tmp_path / "part.py"
    source.write_text("def larger(a, b):\n    return a > b\n")
    code = "import mutant_plugin, part; print(part.larger(1, 1))"
    for number, expected in ((-1, "False"), (0, "True")):
        environment = {
            **os.environ,
            "MUTANT_FILE": str(source),
            "MUTANT_NUMBER": str(number),
            "PYTHONPATH": f"{FOLDER}:{tmp_path}",
        }
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment
        )
        assert done.stdout.strip() == expected, done.stderr


def records() -> dict[str, dict]:
    place = next(ROOT.glob("*results/**/reliability/fuzz.json"), None)
    place = (place or next(ROOT.glob("results/reliability/fuzz.json"))).parent
    names = ("fuzz", "faults", "mutants")
    return {name: json.loads((place / f"{name}.json").read_text()) for name in names}


def test_the_page_says_what_the_records_say():
    page = " ".join((ROOT / "docs" / "reliability.md").read_text().split())
    found = records()
    kills = [part for key, part in found["faults"].items() if key.startswith("killed")]
    outcomes = [fault["outcome"] for fault in found["mutants"]["faults"]]
    killed = sum(outcome in ("killed", "no end") for outcome in outcomes)
    fuzz = found["fuzz"]
    for said in (
        f"{sum(part['kills'] for part in kills)} kills over {len(kills)} commands",
        f"{sum(part['broken'] for part in kills)} broken or missing outputs",
        f"{fuzz['mutants']:,} mutants of {len(fuzz['formats'])} formats, "
        f"{len(fuzz['failures'])} failures",
        f"{len(outcomes)} of {found['mutants']['known']:,} faults tried, {killed} killed",
    ):
        assert said in page


def test_every_part_that_faults_are_put_into_is_there(monkeypatch):
    mutants = load("mutants", monkeypatch)
    for file, tests in mutants.TESTS.items():
        assert (ROOT / "src" / "elasticgnn" / file).is_file(), file
        assert all((ROOT / "tests" / name).exists() for name in tests.split()), tests
    assert len(mutants.all_faults()) > 1000
