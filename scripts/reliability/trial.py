"""Faults tried in forks: of a process that has collected the tests, or of one without our code.

The first is quick: the fork gives the loaded functions the fault and runs the tests. What it
cannot do, a fault in what runs while a module is loaded, the second does; it also tries again
whatever survived the first.
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import NoReturn

import faulty
import pytest
from covering import Watch
from hypothesis import Phase, settings
from sample import ROOT, SOURCE

LIBRARIES = (
    *("torch", "numpy", "scipy.sparse", "scipy.stats", "scipy.optimize", "hypothesis", "optuna"),
    *("sqlalchemy", "pandas", "safetensors.torch", "torch_geometric", "networkx", "pyarrow"),
    *("pyarrow.parquet", "typer", "rich", "matplotlib", "matplotlib.pyplot", "PIL.Image"),
    *("hypothesis.extra.numpy", "sklearn.base", "psycopg", "cvxpy", "scipy.sparse.csgraph"),
)
TIMES, FREE = 10.0, 30.0  # of the usual processor seconds, and beside them
COLLECTION_FAILED, CRASHED = 2, 128  # exit codes: of pytest, and from here on of signals
POLL, LONGEST = 0.02, 0.5  # seconds between two looks, and what one may count for at most


def load_libraries() -> None:
    """Imports what the tests import, apart from this package: every fork has it already."""
    sys.path.insert(0, str(ROOT / "tests"))
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:  # an extra that is not there
            continue
    sys.modules["torch"].set_num_threads(1)  # a team of threads would be missing in every fork
    for name in [name for name in sys.modules if name.split(".")[0] == "elasticgnn"]:
        del sys.modules[name]  # loaded again with the fault in it


class Warm:
    """A pytest plugin that does `work` with the collected tests instead of running them."""

    def __init__(self, work: Callable[[list[pytest.Item]], None]) -> None:
        self.work = work

    def pytest_collection(self) -> None:
        """Examples that fail are not made smaller: that they fail is all that is asked."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.get_profile("elasticgnn"), phases=phases)
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.work(session.items)
        return True


def collect(tests: list[str], work: Callable[[list[pytest.Item]], None]) -> int:
    """Does `work` with the tests of these files or of these names; pytest's exit code."""
    os.chdir(ROOT)
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=0"]
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    options += ["--basetemp", str(Path(tempfile.gettempdir()) / f"mutants-{os.getpid()}")]
    return int(pytest.main([*options, *tests], plugins=[Warm(work)]))


def run_items(items: list[pytest.Item], watch: Watch, enough: Callable[[], bool]) -> None:
    """Runs the tests in this order until it is enough."""
    items[0].config.pluginmanager.register(watch)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if enough():
            break


def first_failure(items: list[pytest.Item]) -> int:
    """1 once a test fails, 0 if none does."""
    watch = Watch()
    run_items(items, watch, lambda: bool(watch.failed))
    if watch.failed:
        os.write(3, watch.failed[0].encode())
    return int(bool(watch.failed))


def in_fork(work: Callable[[], int], processor_seconds: float) -> tuple[int | None, str]:
    """The exit code of `work` in a fork without output, None if its time ran out; what it reported.

    Its time on the clock is twice that on the processor and a minute.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        run_quietly(work, processor_seconds, theirs)
    os.close(theirs)
    status = wait_for(child, 60 + 2 * processor_seconds)
    os.set_blocking(ours, False)  # what the work started may be left and hold the other end
    with os.fdopen(ours, "rb") as pipe:
        # a crash adds its stack, with the paths of this machine: the first line says enough
        message = (pipe.read() or b"").decode().partition("\n")[0]
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM)
        return None if late else CRASHED + os.WTERMSIG(status), message
    return os.WEXITSTATUS(status), message


def wait_for(child: int, seconds: float) -> int:
    """The status of a child, which gets SIGALRM after so many seconds.

    They count only while this process runs: where the machine is busy or all campaigns are
    stopped, its own looks come late too, and what lies between two of them counts little.
    """
    awake, last = 0.0, time.monotonic()
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        if awake > seconds:
            os.kill(child, signal.SIGALRM)
            return os.waitpid(child, 0)[1]
        time.sleep(POLL)
        awake, last = awake + min(time.monotonic() - last, LONGEST), time.monotonic()


def run_quietly(work: Callable[[], int], processor_seconds: float, reports: int) -> NoReturn:
    """In the fork: limits the time, closes the output, and leaves without clearing up."""
    code = 99
    try:
        limit = int(processor_seconds + resource.getrusage(resource.RUSAGE_SELF).ru_utime)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        for number in (signal.SIGXCPU, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(reports, 3, inheritable=False)
        for handle in (0, 1, 2):
            os.dup2(nowhere, handle)
        with tempfile.TemporaryDirectory() as folder:
            tempfile.tempdir = folder
            code = work()
    finally:
        os._exit(code)


def try_in_warm(
    path: Path,
    number: int,
    functions: dict[faulty.Place, list[FunctionType]],
    items: list[pytest.Item],
    usual: float,
) -> tuple[str, str]:
    """Whether the tests find the fault in loaded functions, and which did."""
    by_name = {item.nodeid: item for item in items}

    def run(names: list[str], with_fault: bool) -> tuple[int | None, str]:
        chosen = [by_name[name] for name in names]

        def work() -> int:
            there = not with_fault or faulty.put_in(path, number, functions)
            return first_failure(chosen) if there else 0

        return in_fork(work, TIMES * usual + FREE)

    return found_by(run, list(by_name))


def try_in_fresh(path: Path, number: int, tests: list[str], usual: float) -> tuple[str, str]:
    """Whether the tests find the fault in a module that is loaded with it, and which did."""

    def run(names: list[str], with_fault: bool) -> tuple[int | None, str]:
        def work() -> int:
            if with_fault:
                faulty.load_with_fault(path, number)
            return run_names(names) if can_be_loaded(path) else COLLECTION_FAILED

        return in_fork(work, TIMES * usual + FREE)

    return found_by(run, tests)


def run_names(names: list[str]) -> int:
    """Collects these tests and runs them in this order until one fails."""
    codes: list[int] = []
    order = {name: place for place, name in enumerate(names)}

    def run(items: list[pytest.Item]) -> None:
        last = len(order)
        codes.append(first_failure(sorted(items, key=lambda i: order.get(i.nodeid, last))))

    code = collect(names, run)
    return codes[0] if codes else code


def found_by(
    run: Callable[[list[str], bool], tuple[int | None, str]], tests: list[str]
) -> tuple[str, str]:
    """What comes of a fault, and the test that found it, which passes without the fault.

    A test that fails either way, where the machine is busy perhaps, has found nothing: the others
    are asked. A crash names no test: all of them must pass without the fault.
    """
    outcome, test = outcome_of(*run(tests, True))
    if outcome != "killed" or not test:
        return outcome, test
    if test not in tests:
        return ("killed", "") if run(tests, False)[0] == 0 else ("unclear", "")
    if run([test], False)[0] == 0:
        return outcome, test
    others = [name for name in tests if name != test]
    return found_by(run, others) if 0 < len(others) < len(tests) else ("unclear", "")


def can_be_loaded(path: Path) -> bool:
    """Whether the module of this file is loaded without an error; others are left to the tests."""
    if not path.is_relative_to(SOURCE.parent):
        return True
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    try:
        importlib.import_module(name.removesuffix(".__init__"))
    except Exception:  # whatever it is: no test could begin
        return False
    return True


def outcome_of(code: int | None, message: str) -> tuple[str, str]:
    """killed (with the test that failed), no end, survived; unclear if pytest itself failed."""
    if code is None or code == 0:
        return "survived" if code == 0 else "no end", message
    if code == CRASHED + signal.SIGKILL:  # the memory ran out, for which others may be the reason
        return "unclear", ""
    collected = code != COLLECTION_FAILED and code < CRASHED
    return "unclear" if collected and not message else "killed", message
