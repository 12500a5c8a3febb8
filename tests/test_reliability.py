"""The campaigns of scripts/reliability, cut down: they run, and they can fail."""

import ast
import faulthandler
import importlib.util
import os
import signal
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


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def raise_key_error(_: Path) -> None:
    raise KeyError("x")


def refuse(_: Path) -> None:
    raise ValueError("refused")


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (raise_key_error, "traceback KeyError: 'x'"),
        (refuse, "refused"),
        (lambda _: burn(9), "slow"),
        (lambda _: time.sleep(9), "slow"),
        (run_a_process, "code subprocess.Popen"),
        (leave, "crash"),
        # far beyond 200 MB: meanwhile the system may take back pages of libraries, which count too
        (lambda _: b"x" * (1 << 30), "large"),
        (lambda _: None, "read"),
    ],
)
def test_the_fuzzer_finds_what_it_looks_for(monkeypatch, read, expected):
    fuzz = load("fuzz", monkeypatch)
    monkeypatch.setattr(fuzz, "SECONDS", 0.3 if expected == "slow" else 60)
    monkeypatch.setattr(fuzz, "PATIENCE", 10)
    counts, failures = fuzz.run_batch("fake", fuzz.Format("f", b"x", read), 0, 1)
    assert counts == {expected.split()[0]: 1}
    harmless = expected in ("read", "refused")
    assert failures == ([] if harmless else [f"fake 0: {expected}"])


PART = """
def larger(a, b):
    check(a)
    return a > b

def check(a):
    if a < 0:
        raise ValueError(a)

class Counted:
    start = 3

    def total(self, more=1):
        return [(lambda x: x + self.start)(x) for x in range(more)]
"""
FAULTS = {  # what the fault is: an expression that tells it, its value without and with the fault
    "Gt becomes GtE": ("larger(1, 1)", "False", "True"),
    "call left out": ("larger(-1, 1)", "ValueError", "False"),
    "raise left out": ("larger(-1, 1)", "ValueError", "False"),
    "Lt becomes LtE": ("larger(0, 1)", "False", "ValueError"),
    "3 plus 1": ("Counted().total()", "[3]", "[4]"),
    "1 plus 1": ("Counted().total()", "[3]", "[3, 4]"),
    "Add becomes Sub": ("Counted().total()", "[3]", "[-3]"),
}
SAYS = """
import sys
from pathlib import Path
import faulty
path, number, loaded, expression = sys.argv[1:]
if loaded == "before":
    import part
    functions = faulty.loaded_functions(Path(path).parent)
    print(faulty.put_in(Path(path), int(number), functions))
else:
    faulty.load_with_fault(Path(path), int(number))
    import part
try:
    print(eval(expression, vars(part)))
except ValueError:
    print("ValueError")
"""


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """What a module says with fault `number` in it, put in before or after it was loaded."""
    folder = tmp_path_factory.mktemp("part")
    (folder / "part.py").write_text(PART)
    (folder / "says.py").write_text(SAYS)

    def say(number: int, loaded: str, expression: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "says.py", str(folder / "part.py"), str(number), loaded, expression],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{FOLDER}:{folder}"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")[:-1]

    return say


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_is_put_in_is_there(monkeypatch, evaluated, fault):
    faulty = load("faulty", monkeypatch)
    faults = faulty.Faults()
    faults.visit(ast.parse(PART))
    number = [what for _, what in faults.places].index(fault)
    expression, without, expected = FAULTS[fault]
    assert evaluated(-1, "after", expression) == [without]
    assert evaluated(number, "after", expression) == [expected]
    in_function = fault not in ("3 plus 1", "1 plus 1")  # those are read while being loaded
    assert evaluated(number, "before", expression) == (
        ["True", expected] if in_function else ["False", without]
    )


def test_a_draw_does_not_depend_on_where_lines_are(monkeypatch, tmp_path):
    sample = load("sample", monkeypatch)
    monkeypatch.setattr(sample, "SOURCE", tmp_path)
    (tmp_path / "part").mkdir()
    drawn = []
    for text in (PART, "# a line more\n\n" + PART):
        (tmp_path / "part" / "part.py").write_text(text)
        drawn.append([sample.identity(fault) for fault in sample.drawn("part", 5)])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 5


TESTS = """
from part import larger

def test_far_apart():
    assert larger(2, 1)

def test_equal():
    assert not larger(1, 1)
"""


FAILS = """
def test_fails_whatever_there_is():
    assert False

"""


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """What comes of a fault of `part`, tried with these tests, and the name of the finder."""
    faulty, trial = load("faulty", monkeypatch), load("trial", monkeypatch)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(trial, "ROOT", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # names of tests begin here
    path = tmp_path / "part.py"
    path.write_text(PART)
    faults = faulty.Faults()
    faults.visit(ast.parse(PART))

    def attempt(fault: str, content: str, names: tuple[str, ...]) -> tuple[str, str]:
        (tmp_path / "test_part.py").write_text(content)
        number = [what for _, what in faults.places].index(fault)
        tests = [f"test_part.py::{name}" for name in names]
        outcome, test = trial.try_in_fresh(path, number, tests, 1.0)
        return outcome, test.rpartition("::")[2]

    return attempt


@pytest.mark.parametrize(
    ("fault", "expected"),
    [("Gt becomes GtE", ("killed", "test_equal")), ("Lt becomes LtE", ("survived", ""))],
)
def test_a_fault_is_killed_by_the_test_that_finds_it(tried, fault, expected):
    assert tried(fault, TESTS, ("test_far_apart", "test_equal")) == expected


@pytest.mark.parametrize(
    ("fault", "expected"),
    [("Gt becomes GtE", ("killed", "test_equal")), ("Lt becomes LtE", ("survived", ""))],
)
def test_a_test_that_fails_without_the_fault_kills_nothing(tried, fault, expected):
    names = ("test_fails_whatever_there_is", "test_equal")
    assert tried(fault, TESTS + FAILS, names) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (signal.SIGXCPU, "no end"),
        (signal.SIGSEGV, "killed"),
        (signal.SIGKILL, "unclear"),
    ],
)
def test_a_process_that_the_system_ends_for_its_memory_is_no_kill(monkeypatch, number, expected):
    trial = load("trial", monkeypatch)

    def end() -> int:
        faulthandler.disable()  # it would print where, into this test's output
        os.kill(os.getpid(), number)
        return 0

    assert trial.outcome_of(*trial.in_fork(end, 60.0))[0] == expected


def test_time_without_end_counts_only_while_the_campaign_runs(monkeypatch):
    trial = load("trial", monkeypatch)
    waiting = os.fork()
    if waiting == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        while True:
            signal.pause()
    began = time.monotonic()
    monkeypatch.setattr(trial, "LONGEST", 0.001)  # as if every look came late
    assert os.WTERMSIG(trial.wait_for(waiting, 0.02)) == signal.SIGALRM
    assert time.monotonic() - began > 10 * 0.02


def test_a_fault_that_crashes_is_killed_though_no_test_is_named(monkeypatch):
    """The stack of a crash comes out where the name of a failed test does."""
    trial = load("trial", monkeypatch)
    crash = (trial.CRASHED + signal.SIGSEGV, "Fatal Python error: Segmentation fault")

    def run(names, with_fault):
        assert set(names) <= {"test_a", "test_b"}
        return crash if with_fault else (0, "")

    assert trial.found_by(run, ["test_a", "test_b"]) == ("killed", "")
    assert trial.found_by(lambda names, with_fault: crash, ["test_a"]) == ("unclear", "")
