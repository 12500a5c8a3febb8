"""One fault and its tests, in a fork of a process that has loaded every library but ours."""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import mutant_plugin
import pytest
from covering import ROOT

LIBRARIES = (
    *("torch", "numpy", "scipy.sparse", "scipy.stats", "scipy.optimize", "hypothesis", "optuna"),
    *("sqlalchemy", "pandas", "safetensors.torch", "torch_geometric", "networkx", "pyarrow"),
    *("pyarrow.parquet", "typer", "rich", "matplotlib", "matplotlib.pyplot", "PIL.Image"),
    *("hypothesis.extra.numpy", "sklearn.base", "psycopg", "cvxpy", "scipy.sparse.csgraph"),
)
TIMES, FREE = 10.0, 30.0  # of the usual processor seconds, and beside them


def load_libraries() -> None:
    """Imports what the tests import, apart from this package: every fork has it already."""
    sys.path.insert(0, str(ROOT / "tests"))
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:  # an extra that is not there
            continue
    for name in [name for name in sys.modules if name.split(".")[0] == "elasticgnn"]:
        del sys.modules[name]  # loaded again with the fault in it


def run_pytest(tests: list[str], plugins: list[object] | None = None) -> int:
    """The exit code of pytest, which stops at the first failure."""
    os.chdir(ROOT)
    options = ["-x", "-q", "-p", "no:cacheprovider", "--timeout=0"]
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *tests], plugins=plugins))


def in_fork(work: Callable[[], int], processor_seconds: float) -> int | None:
    """The exit code of `work` in a fork without output, None if its processor time ran out."""
    child = os.fork()
    if child == 0:
        run_quietly(work, processor_seconds)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None if os.WTERMSIG(status) == signal.SIGXCPU else 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def run_quietly(work: Callable[[], int], processor_seconds: float) -> NoReturn:
    """In the fork: limits the time, closes the output, and leaves without clearing up."""
    code = 99
    try:
        limit = int(processor_seconds + resource.getrusage(resource.RUSAGE_SELF).ru_utime)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nowhere, handle)
        with tempfile.TemporaryDirectory() as folder:
            tempfile.tempdir = folder
            code = work()
    finally:
        os._exit(code)


def try_fault(path: Path, number: int, tests: list[str], usual: float) -> str:
    """killed, no end, or survived."""

    def work() -> int:
        mutant_plugin.install(path, number)
        return run_pytest(tests)

    code = in_fork(work, TIMES * usual + FREE)
    return "no end" if code is None else "survived" if code == 0 else "killed"
