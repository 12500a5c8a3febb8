"""Commands of the tool in forks of one warm process: no time goes into imports, all into work."""

from __future__ import annotations

import codecs
import importlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

NOBODY = 65534
OUTSIDE = 98  # exit code where a signal came before or after the command
os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads do not survive a fork
LOADED = (
    *("torch", "optuna", "sqlalchemy.dialects.sqlite", "pandas", "safetensors.torch", "pymetis"),
    *("torch_geometric.nn", "elasticgnn.cli.__main__", "elasticgnn.solver", "elasticgnn.attack"),
    *("elasticgnn.training", "elasticgnn.distributed", "elasticgnn.experiment"),
    *("elasticgnn.report.page", "elasticgnn.data", "matplotlib.figure", "rich.progress"),
    "concurrent.futures.process",
)


def warm_up() -> None:
    """Imports what the commands import, so that a fork begins with its work.

    Encodings too: nobody may not be allowed to read where Python is installed.
    """
    for name in ("utf-8-sig", "cp437", "idna", "latin-1"):
        codecs.lookup(name)
    for name in LOADED:
        importlib.import_module(name)


@dataclass(frozen=True)
class Ended:
    """How a command ended; code is None where it was killed.

    processor_seconds: what it took from the signal that was sent to it until its end.
    """

    code: int | None
    errors: str
    seconds: float
    processor_seconds: float = 0.0

    @property
    def is_one_line(self) -> bool:
        """Whether it was refused with exit code 2 and one line."""
        return self.code == 2 and len(self.errors.strip().splitlines()) == 1

    @property
    def is_refused_after_progress(self) -> bool:
        """Whether one line with exit code 2 ended it, after lines of progress at most."""
        *progress, last = self.errors.strip().splitlines() or [""]
        plain = not any("error" in line or "Traceback" in line for line in progress)
        return self.code == 2 and last.startswith("error: ") and plain


def no_change() -> None:
    """The command runs as it is."""


def full_disk() -> None:
    """No file may grow beyond half a kilobyte."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


def without_rights() -> None:
    """The command runs as nobody, whom root's folders are closed to."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def start(arguments: list[str], folder: Path, log: Path, before: Callable[[], None]) -> int:
    """The number of a process of its own group that runs the command in `folder`."""
    child = os.fork()
    if child == 0:
        run_and_leave(arguments, folder, log, before)
    os.setpgid(child, child)  # by both: a kill before the child has done it would be ours
    return child


def run_and_leave(
    arguments: list[str], folder: Path, log: Path, before: Callable[[], None]
) -> NoReturn:
    import torch

    from elasticgnn.cli.__main__ import main

    torch.set_num_threads(1)  # the parent's threads are not here: a loop would wait for them
    code, inside = 99, False
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        nowhere = os.open(os.devnull, os.O_RDWR)
        errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for handle, target in ((0, nowhere), (1, nowhere), (2, errors)):
            os.dup2(target, handle)
        before()
        inside = True
        main(arguments)
        code, inside = 0, False
    except SystemExit as ended:
        code, inside = ended.code if isinstance(ended.code, int) else 0, False
    except KeyboardInterrupt:
        code = code if inside else OUTSIDE
    finally:
        sys.stderr.flush()
        os._exit(code)


def heed_interrupts() -> None:
    """Ctrl-C is handled, also where the shell has set it to be ignored in background jobs."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def processor_seconds(process: int) -> float:
    """What a process has taken of the processor; the system's clock of it has its number."""
    try:
        return time.clock_gettime((~process << 3) | 2)
    except OSError:  # it is over
        return 0.0


def run(
    arguments: list[str],
    folder: Path,
    send_after: float | None = None,
    before: Callable[[], None] = no_change,
    sent: signal.Signals = signal.SIGKILL,
) -> Ended:
    """Runs the command; with `send_after` it is sent a signal after so many seconds."""
    began, taken = time.monotonic(), 0.0
    with tempfile.NamedTemporaryFile() as log:
        child = start(arguments, folder, Path(log.name), before)
        sent = False
        while True:
            found, status, usage = os.wait4(child, os.WNOHANG)
            spent = time.monotonic() - began
            if found:
                break
            if not sent and send_after is not None and spent > send_after:
                taken = processor_seconds(child)
                os.killpg(os.getpgid(child), sent)
                sent = True
            time.sleep(0.001)
        errors = Path(log.name).read_text(errors="replace")
    code = None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    after = usage.ru_utime + usage.ru_stime - taken if sent else 0.0
    return Ended(code, errors, spent, after)


def run_together(arguments: list[str], folder: Path, count: int) -> list[int]:
    """Exit codes of `count` processes that run the same command at the same time."""
    log = Path(os.devnull)
    children = [start(arguments, folder, log, no_change) for _ in range(count)]
    return [os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children]
