"""`elasticgnn train --tune off` on files of 560,000 nodes: seconds, processor time and memory.

    python benchmarks/bench_large.py --output benchmarks/results/large.json

The files (edges, three features, classes of half of the nodes) are those of `large` in
bench_own_data.py. The command is run as a process of its own, with reading and saving; memory is
the largest that it held.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from own_data_tasks import large

from elasticgnn.data import NodeTask


def write_files(task: NodeTask, folder: Path) -> None:
    """The task as edges.csv, features.csv and labels.csv."""
    import pyarrow as pa
    from pyarrow import csv

    names = pa.array([f"node-{number}" for number in range(task.num_nodes)])
    ends = {"source": names.take(task.graph.tail.numpy()), "target": task.graph.head.numpy()}
    ends["target"] = names.take(ends["target"])
    csv.write_csv(pa.table(ends), folder / "edges.csv")
    columns = {f"x{k}": task.features[:, k].numpy() for k in range(task.num_features)}
    csv.write_csv(pa.table({"id": names, **columns}), folder / "features.csv")
    half = np.arange(0, task.num_nodes, 2)
    classes = pa.array([f"class {task.labels[k]}" for k in half])
    csv.write_csv(pa.table({"id": names.take(half), "class": classes}), folder / "labels.csv")


def run(folder: Path, epochs: int) -> dict[str, float | str]:
    """What training by the command with its usual number of splits took."""
    words = ["train", "--tune", "off", "--epochs", str(epochs)]
    words += ["-o", str(folder / "m.safetensors")]
    for name in ("edges", "features", "labels"):
        words += [f"--{name}", str(folder / f"{name}.csv")]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "elasticgnn", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = done.stdout.strip().splitlines()
    return {
        "epochs": epochs,
        "splits": "as the command chooses",
        "seconds": round(seconds, 1),
        "processor seconds": round(spent, 1),
        "peak megabytes": round(after.ru_maxrss / 1024),
        "cores": len(os.sched_getaffinity(0)),
        "load average": round(os.getloadavg()[0], 1),
        "printed": next((line for line in lines if "accuracy" in line), lines[-1]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=560_000)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--output", type=Path, default=None, help="JSON file")
    options = parser.parse_args()
    task = large(np.random.default_rng(0), options.nodes)
    with tempfile.TemporaryDirectory() as folder:
        write_files(task, Path(folder))
        found = {"nodes": task.num_nodes, "edges": task.graph.num_edges}
        found |= run(Path(folder), options.epochs)
    text = json.dumps(found, indent=1)
    sys.stdout.write(text + "\n")
    if options.output is not None:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
