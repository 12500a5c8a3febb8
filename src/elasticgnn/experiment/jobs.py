"""Several worker processes on one machine, and the progress of all of them."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from elasticgnn.experiment.engine import WorkPlan, run_study
from elasticgnn.experiment.replacing import check_replaced
from elasticgnn.experiment.spec import StudySpec


def run_jobs(spec: StudySpec, plan: WorkPlan, jobs: int, report: Callable[[str], None]) -> None:
    """Work on `spec` in `jobs` processes that share the machine's processors."""
    if jobs < 1:
        raise ValueError(f"jobs must be >= 1, got {jobs}")
    if jobs == 1:
        run_study(spec, plan, report)
        return
    check_replaced(spec, plan.results)  # once, in place of once by every worker
    context = multiprocessing.get_context("spawn")
    lines = context.SimpleQueue()
    threads = max(1, (os.cpu_count() or 1) // jobs)
    workers = [
        context.Process(target=work, args=(portable(spec), plan, threads, lines, os.getpid()))
        for _ in range(jobs)
    ]
    for worker in workers:
        worker.start()
    try:
        while any(worker.is_alive() for worker in workers) or not lines.empty():
            while not lines.empty():
                report(lines.get())
            time.sleep(0.2)
    finally:  # Ctrl-C: no process is left behind
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()
    failed = [worker.exitcode for worker in workers if worker.exitcode]
    if failed:
        raise OSError(f"{len(failed)} of {jobs} workers failed, exit codes {failed}")


def portable(spec: StudySpec) -> StudySpec:
    """The study as it can be sent to another process."""
    return replace(spec, paper=dict(spec.paper), found=dict(spec.found))


def work(spec: StudySpec, plan: WorkPlan, threads: int, lines: Any, parent: int) -> None:
    """One worker process; it leaves when the process that started it is gone."""
    torch.set_num_threads(threads)

    def report(line: str) -> None:
        if os.getppid() != parent:
            raise SystemExit(1)
        lines.put(line)

    try:
        run_study(spec, plan, report)
    except KeyboardInterrupt:  # Ctrl-C reaches every process; the first one speaks of it
        raise SystemExit(130) from None
    except (ValueError, OSError) as error:
        lines.put(f"worker {os.getpid()} failed: {error}")
        raise SystemExit(2) from None
