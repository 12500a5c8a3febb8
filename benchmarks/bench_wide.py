"""Wide rows on five structures of graphs, as multiples of K sparse products of the same run.

Prints a table and writes results/wide.json: five structures, four widths, one and two threads in
about five minutes. All kinds of calls take turns, and the least time of each counts: processor time
on one thread, which a busy machine disturbs least, wall time on more. With --rival two
installations take turns: the interpreter of the other one, with its variables in the environment.
    python benchmarks/bench_wide.py [--threads 1 2] [--widths 16 40 64 128] [--rival PYTHON]
        [--page docs/performance_details.md]
Records of earlier runs stay where a call is not measured again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CALL = ("structure", "width", "threads")
MARK = "<!-- benchmarks/bench_wide.py -->"  # before and behind the table of a page
KINDS = ("forward", "forward+backward", "products")
RIVAL = "RIVAL_"  # variables of the environment with this prefix are those of the rival


class Worker:
    """A process with one graph, which times the calls that it is asked for."""

    def __init__(
        self, python: str, graph: str, *, is_rival: bool, script: str = "wide_worker.py"
    ) -> None:
        own = {k.removeprefix(RIVAL): v for k, v in os.environ.items() if k.startswith(RIVAL)}
        self.process = subprocess.Popen(
            [python, str(ROOT / script), graph],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **own} if is_rival else None,
        )
        self.size = self._read()  # nodes and edges

    def _read(self) -> list[float]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def time(self, kind: str, width: int, threads: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{kind} {width} {threads}\n")
        self.process.stdin.flush()
        return self._read()[0]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(structure: str, options: argparse.Namespace) -> None:
    """Writes one record for each width and number of threads."""
    workers = {"own": Worker(sys.executable, structure, is_rival=False)}
    if options.rival:
        workers["rival"] = Worker(options.rival, structure, is_rival=True)
    records: list[dict] = []
    for threads in options.threads:
        stream = workers["own"].time("stream", 0, threads)  # seconds per byte
        for width in options.widths:
            record = least(workers, width, threads, options.rounds)
            nodes, edges = workers["own"].size
            dual = 2 * 4 * width * edges * 10  # bytes that streaming the dual alone would move
            record["share of streaming"] = dual * stream / record["own forward"]
            record["of K products"] = record["own forward"] / record["own products"]
            about = {"structure": structure, "nodes": nodes, "edges": edges}
            records.append({**about, "width": width, "threads": threads, **record})
            print(_line(records[-1]), flush=True)
            write(options, records)
    for worker in workers.values():
        worker.close()


def least(workers: dict[str, Worker], width: int, threads: int, rounds: int) -> dict[str, float]:
    """The least time of each kind of call, which take turns."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, worker in workers.items():
            for kind in KINDS if name == "own" else KINDS[:2]:
                seconds = worker.time(kind, width, threads)
                best[f"{name} {kind}"] = min(best.get(f"{name} {kind}", seconds), seconds)
    return best


def _line(r: dict) -> str:
    text = f"{r['structure']:>10} d={r['width']:<4} {r['threads']} threads "
    text += f"{1e3 * r['own forward']:8.1f} ms  {r['of K products']:5.2f} of K"
    text += f" products  {100 * r['share of streaming']:4.0f} % of streaming"
    if "rival forward" in r:
        text += f"  {r['rival forward'] / r['own forward']:5.2f}x the rival's speed"
        both = r["rival forward+backward"] / r["own forward+backward"]
        text += f", {both:5.2f}x forward+backward"
    return text


def merged(path: Path, records: list[dict]) -> list[dict]:
    """The records of a file with new ones in the place of those of the same call."""
    old = json.loads(path.read_text())["records"] if path.exists() else []
    both = {tuple(record[name] for name in CALL): record for record in [*old, *records]}
    return list(both.values())


def table(records: list[dict]) -> str:
    """Multiples of K products, and the share of streaming, as a table of a page."""
    widths = sorted({record["width"] for record in records})
    lines = ["| structure | threads |" + "".join(f" d = {width} |" for width in widths)]
    lines.append("| --- | --- |" + " --- |" * len(widths))
    found = {tuple(record[name] for name in CALL): record for record in records}
    for structure, threads in dict.fromkeys((r["structure"], r["threads"]) for r in records):
        cells = ""
        for width in widths:
            r = found.get((structure, width, threads))
            cells += (
                f" {r['of K products']:.2f} ({100 * r['share of streaming']:.0f} %) |"
                if r
                else " |"
            )
        lines.append(f"| {structure} | {threads} |{cells}")
    return "\n".join(lines)


def write(options: argparse.Namespace, records: list[dict]) -> None:
    """The record, and the page's table of it."""
    whole = merged(options.output, records)
    text = json.dumps({"date": time.strftime("%Y-%m-%d"), "records": whole}, indent=1)
    options.output.write_text(text + "\n")
    if options.page is not None:
        before, _, rest = options.page.read_text().partition(MARK)
        _, _, after = rest.partition(MARK)
        options.page.write_text(f"{before}{MARK}\n\n{table(whole)}\n\n{MARK}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 40, 64, 128])
    parser.add_argument("--structures", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rival")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "wide.json")
    parser.add_argument("--page", type=Path, help="a page whose table is to be replaced")
    options = parser.parse_args()
    from operator_structures import STRUCTURES

    for structure in options.structures or STRUCTURES:
        measure(structure, options)


if __name__ == "__main__":
    main()
