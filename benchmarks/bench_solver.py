"""The certified solver against generic and graph-TV solvers: same objective, gap really reached.

    python benchmarks/bench_solver.py [--part rivals|paths|methods|all] [--rows TEXT] [--limit 60]

Noisy piecewise-constant signals on square grids, not normalised, lambda2 = 0. Every signal is
judged by our certificate: its objective against a proven lower bound, which is the gap of that
signal with our dual. Prints tables; writes results/solver.json and docs/figures/solver.png.
A rival that needs more than --limit seconds is stopped; if that was at lambda1 = 0.5, it is not
asked for larger grids. From 99,856 nodes on rivals are asked for that lambda1 only. Each solver has
a process of its own per grid. What is not measured keeps its earlier record: --only takes some
solvers, --smallest and --largest some grids, --rows some rows of the methods, --path some paths.
"""

import argparse
import json
import os
import platform
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from solver_cut_pursuit import peak_memory
from solver_methods import bench_rows
from solver_path import bench_paths
from solver_plot import draw
from solver_problems import cells
from solver_rivals import RIVALS, lower_bound, reason_to_skip, warm_up

from elasticgnn.graph import grid_graph
from elasticgnn.problem import ElasticPenalty, primal_value

ROOT = Path(__file__).resolve().parent
PARTS = ("all", "rivals", "paths", "methods")
SIDES = (32, 100, 316, 1000)
SHORT = 316  # side from which on rivals are asked for one lambda1 only
MIDDLE = 0.5
LAMBDA1S = (MIDDLE, 2.0, 0.1)
STARTING = 20.0  # seconds for imports, building the problem and the first small solve
OURS, BOUND = "elasticgnn", "lower bound"

Record = dict[str, Any]


def run_cases(name: str, side: int, channels: int, lambda1s: list[float]) -> Iterator[Record]:
    """One solve per lambda1 with the objective of its signal; or our lower bounds."""
    x, graph = cells(side, channels), grid_graph(side, side)
    if name == BOUND:
        for lambda1 in lambda1s:
            yield {"lower": lower_bound(x, graph, lambda1)}
        return
    warm_up(name, cells(8, channels), grid_graph(8, 8))
    for lambda1 in lambda1s:
        answer = RIVALS[name](x, graph, lambda1)
        rows = torch.from_numpy(np.ascontiguousarray(answer.signal)).reshape(x.shape).double()
        objective = float(primal_value(rows, x, graph, ElasticPenalty(lambda1, 0.0)))
        facts = {"seconds": answer.seconds, "objective": objective}
        yield {"memory_mb": peak_memory()} | facts | answer.remarks


def ask(name: str, side: int, channels: int, lambda1s: list[float], limit: float) -> list[Record]:
    """The answers from a process of its own, one per lambda1; a failure is an answer too."""
    case = {"name": name, "side": side, "channels": channels, "lambda1s": lambda1s}
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    answers: list[Record] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, process_group=0
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        patience = limit + STARTING
        for _ in lambda1s:
            ready, _, _ = select.select([process.stdout], [], [], patience)
            line = process.stdout.readline() if ready else b""
            if not line:
                text = "" if ready else f"more than {limit:.0f} s"
                answers.append({"failure": text, "stopped": not ready})
                break
            answers.append(json.loads(line))
            patience = limit
        if answers[-1].get("failure") == "":
            text = process.stderr.read().decode().strip() or "no message"
            answers[-1]["failure"] = text.splitlines()[-1][:90]
        if "failure" in answers[-1]:
            os.killpg(process.pid, 9)  # the solver and what it started
    return answers


def measure_all(names: list[str], sides: list[int], limit: float) -> list[Record]:
    records: list[Record] = []
    too_slow: set[tuple[str, int]] = set()
    for side in sides:
        for channels in (1, 2):
            bounds = ask(BOUND, side, channels, list(LAMBDA1S), 10 * limit)
            lower = {at: b["lower"] for at, b in zip(LAMBDA1S, bounds, strict=True)}
            for name in names:
                if (name, channels) in too_slow or reason_to_skip(name, channels):
                    continue
                few = side >= SHORT and name != OURS
                lambda1s = [MIDDLE] if few else list(LAMBDA1S)
                answers = ask(name, side, channels, lambda1s, limit)
                for lambda1, answer in zip(lambda1s, answers, strict=False):
                    case = {"name": name, "side": side, "channels": channels, "lambda1": lambda1}
                    records.append(case | with_gap(answer, lower[lambda1]))
                    print(line(records[-1]), flush=True)
                if "failure" in answers[0]:
                    too_slow.add((name, channels))
    return records


def left_out() -> list[Record]:
    """The rivals that are not asked, and why."""
    return [
        {"name": name, "channels": channels, "reason": reason}
        for name in RIVALS
        for channels in (1, 2)
        if (reason := reason_to_skip(name, channels))
    ]


def with_gap(answer: Record, lower: float) -> Record:
    """The answer with the gap that it really reached."""
    if "failure" in answer:
        return answer
    return answer | {"relative_gap": (answer["objective"] - lower) / answer["objective"]}


def line(record: Record) -> str:
    head = (
        f"{record['side'] ** 2:>9,} nodes  d={record['channels']}  "
        f"lambda1={record['lambda1']:<4} {record['name']:<15}"
    )
    if "failure" in record:
        return f"{head} {record['failure']}"
    return (
        f"{head} {record['seconds']:8.3f} s  gap {record['relative_gap']:8.1e}  "
        f"{record['memory_mb']:6.0f} MB"
    )


def machine() -> Record:
    return {
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "load": os.getloadavg()[0],
    }


def given_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=1_000_000, help="number of nodes")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per solve of a rival")
    parser.add_argument("--part", choices=PARTS, default="all")
    parser.add_argument("--only", nargs="+", choices=tuple(RIVALS), help="measure these again")
    parser.add_argument("--rows", default="", help="of the methods, whose label holds this")
    parser.add_argument("--path", default="", help="the paths whose name holds this")
    parser.add_argument("--smallest", type=int, default=1, help="number of nodes")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "solver.json")
    parser.add_argument("--figure", type=Path, default=ROOT.parent / "docs/figures/solver.png")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = given_options()
    if options.case:
        for record in run_cases(**json.loads(options.case)):
            print(json.dumps(record), flush=True)
        return
    results = json.loads(options.output.read_text()) if options.output.exists() else {}
    if options.part in ("all", "paths"):
        results["paths"] = timed_paths(options.path, results.get("paths", {}).get("records", []))
    if options.part in ("all", "methods"):
        torch.set_num_threads(1)
        known = results.get("methods", {}).get("records", [])
        results["methods"] = {"machine": machine(), "records": bench_rows(options.rows, known)}
    if options.part in ("all", "rivals"):
        sides = [side for side in SIDES if options.smallest <= side**2 <= options.largest]
        names = [name for name in RIVALS if not options.only or name in options.only]
        found = bench_rivals(names, sides, options.limit)
        if options.only or options.smallest > 1 or options.largest < SIDES[-1] ** 2:
            known = results["rivals"]
            records = merged(known["records"], found["records"])
            found = known | {"records": records, "machine_of_some": found["machine"]}
        results["rivals"] = found
        print(f"written to {draw(results['rivals']['records'], options.figure)}")
    options.output.write_text(json.dumps(results, indent=1) + "\n")
    print(f"written to {options.output}")


def merged(old: list[Record], new: list[Record]) -> list[Record]:
    """The new records, and the old ones of cases that were not run again."""

    def case(record: Record) -> tuple[Any, ...]:
        return tuple(record[key] for key in ("side", "channels", "name", "lambda1"))

    known = {case(record): record for record in (*old, *new)}
    order = list(RIVALS)
    return [known[key] for key in sorted(known, key=lambda k: (*k[:2], order.index(k[2]), k[3]))]


def timed_paths(text: str, known: list[Record]) -> Record:
    """All records of the paths, and what is needed to read them."""
    return {"machine": machine() | {"threads": 1}, "records": bench_paths(text, known)}


def bench_rivals(names: list[str], sides: list[int], limit: float) -> Record:
    """All records, and what is needed to read them."""
    begin, about, skipped = time.perf_counter(), machine(), left_out()
    for one in skipped:
        print(f"{one['name']} is not asked for d={one['channels']}: {one['reason']}")
    records = measure_all(names, sides, limit)
    about["seconds_in_all"] = time.perf_counter() - begin
    return {"machine": about, "limit": limit, "not_asked": skipped, "records": records}


if __name__ == "__main__":
    main()
