"""Short rows and populations against another installation, which takes turns call by call.

Prints a table and writes results/packed.json: Cora, PubMed and Coauthor Physics, forward, forward
and backward, and 16 runs at once, the least of some rounds (processor time on one thread). The
loops of commit 6fecb07, compiled in a folder of their own:
    git worktree add ../before 6fecb07 && (cd ../before && make .venv/.dev)
    RIVAL_PYTHONPATH=../before/src python benchmarks/bench_packed.py --name 6fecb07
        --rival ../before/.venv/bin/python [--graphs Cora]
Records of other graphs stay where they are.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from bench_wide import Worker

ROOT = Path(__file__).resolve().parent
# How often a call is repeated between two readings of the clock, which must not be too near.
REPEATS = {"Cora": 20, "PubMed": 6, "Coauthor Physics": 1}
KINDS = ("forward", "forward+backward", "population")


def measure(graph: str, options: argparse.Namespace) -> list[dict]:
    """One record for each kind of call and number of threads."""
    pythons = {"own": sys.executable, "rival": options.rival}
    workers = {
        name: Worker(python, graph, is_rival=name == "rival", script="packed_worker.py")
        for name, python in pythons.items()
    }
    nodes, edges, is_real = workers["own"].size
    about = {"graph": graph, "nodes": nodes, "edges": edges, "is real": bool(is_real)}
    records = []
    for threads in options.threads:
        for kind in KINDS:
            times = {name: [] for name in workers}
            for _ in range(options.rounds):
                for name, worker in workers.items():
                    times[name].append(worker.time(kind, REPEATS[graph], threads))
            best = {name: min(seconds) for name, seconds in times.items()}
            record = {**about, "kind": kind, "threads": threads, "rounds": options.rounds, **best}
            record["own over rival"] = best["own"] / best["rival"]
            records.append(record)
            print(_line(record), flush=True)
    for worker in workers.values():
        worker.close()
    return records


def _line(r: dict) -> str:
    text = f"{r['graph']:>16} {r['kind']:>16} {r['threads']} threads {1e3 * r['own']:8.2f} ms"
    return f"{text}  {r['own over rival']:5.3f} of the rival's time"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rival", required=True, help="the other installation's interpreter")
    parser.add_argument("--name", required=True, help="what the rival is, for the record")
    parser.add_argument("--graphs", nargs="+", default=list(REPEATS), choices=list(REPEATS))
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "packed.json")
    options = parser.parse_args()
    old = json.loads(options.output.read_text())["records"] if options.output.exists() else []
    records = [record for record in old if record["graph"] not in options.graphs]
    for graph in options.graphs:
        records += measure(graph, options)
        head = {"date": time.strftime("%Y-%m-%d"), "rival": options.name}
        options.output.write_text(json.dumps({**head, "records": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
