"""Time and memory of reading one's own files, beside pyarrow's own readers.

    python benchmarks/bench_readers.py --output benchmarks/results/readers.json

Features of 100,000 nodes with 85 columns (a 34 MB matrix), 820,000 edges and as many labels, as
CSV and Parquet.
Time is the least of several interleaved reads in one process, by the clock on the wall and in
processor seconds of all threads (other programs disturb these less); memory is the rise of the
largest resident size during one read in a process of its own. The limits are twice pyarrow's time
and three times its memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS = 5
FILES = {
    "features": ("f.csv", "f.parquet"),
    "edges": ("e.csv", "e.parquet"),
    "labels": ("l.csv", "l.parquet"),
}


def write_files(folder: Path, nodes: int, columns: int, edges: int) -> None:
    import pyarrow
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    numbers = {f"c{k}": rng.normal(size=nodes).astype(np.float32) for k in range(columns)}
    features = pyarrow.table({"id": np.arange(nodes), **numbers})
    ends = rng.integers(0, nodes, (2, edges))
    listed = pyarrow.table({"source": ends[0], "target": ends[1]})
    words = np.array(["reliable", "doubtful", "fraud"])[rng.integers(0, 3, edges)]
    labels = pyarrow.table({"id": np.arange(edges), "label": words})
    for name, table in (("f", features), ("e", listed), ("l", labels)):
        csv.write_csv(table, folder / f"{name}.csv")
        parquet.write_table(table, folder / f"{name}.parquet")


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def readers(kind: str, path: Path) -> dict:
    """Both readers of a file, each called once on a small one."""
    from pyarrow import csv, parquet

    from elasticgnn.data.own.read_task import read_edges, read_features, read_labels

    theirs = csv.read_csv if path.suffix == ".csv" else parquet.read_table
    ours = {"features": read_features, "edges": read_edges, "labels": read_labels}
    found = {"elasticgnn": ours[kind], "pyarrow": theirs}
    for read in found.values():
        read(path.with_name(f"small_{path.name}"))
    return found


def seconds_of(kind: str, path: Path) -> dict[str, dict[str, float]]:
    """The least time of each reader over interleaved rounds, by either clock."""
    clocks = {"seconds": time.perf_counter, "processor seconds": time.process_time}
    least = {name: dict.fromkeys(("elasticgnn", "pyarrow"), float("inf")) for name in clocks}
    found = readers(kind, path)
    for _ in range(ROUNDS):
        for name, read in found.items():
            began = {clock: now() for clock, now in clocks.items()}
            read(path)
            for clock, now in clocks.items():
                least[clock][name] = min(least[clock][name], now() - began[clock])
    return least


def megabytes_of(reader: str, kind: str, path: Path) -> float:
    """The rise of the largest resident size during one read."""
    read, before = readers(kind, path)[reader], peak()
    kept = read(path)
    assert kept is not None
    return (peak() - before) / 1024


def in_a_process(*words: str) -> dict:
    call = [sys.executable, __file__, "--one", *words]
    return json.loads(subprocess.run(call, capture_output=True, check=True, text=True).stdout)


def compare(folder: Path) -> list[dict]:
    rows = []
    for kind, names in FILES.items():
        for name in names:
            path = str(folder / name)
            row: dict = {"file": f"{kind}{Path(name).suffix}"}
            least = in_a_process("both", kind, path)
            most = {reader: in_a_process(reader, kind, path) for reader in least["seconds"]}
            for measure, found in {**least, "megabytes": most}.items():
                row |= {f"{reader} {measure}": value for reader, value in found.items()}
                row[f"ratio {measure}"] = found["elasticgnn"] / max(found["pyarrow"], 1e-9)
            rows.append(row)
            print(json.dumps(row), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, help="internal: reader, kind and file of one run")
    parser.add_argument("--output", type=Path, default=None, help="JSON file")
    options = parser.parse_args()
    if options.one:
        reader, kind, path = options.one
        both = reader == "both"
        found = seconds_of(kind, Path(path)) if both else megabytes_of(reader, kind, Path(path))
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, 100_000, 85, 820_000)
        small = folder / "small"
        small.mkdir()
        write_files(small, 100, 85, 100)
        for path in small.iterdir():
            path.rename(folder / f"small_{path.name}")
        rows = compare(folder)
    if options.output is not None:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
