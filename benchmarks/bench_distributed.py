"""The distributed operator and training, measured in one run; `make bench-distributed`.

Ratios of processor seconds are what counts on a shared machine: a process that waits for a core
does no work. Writes results/distributed.json.
    python benchmarks/bench_distributed.py [--edges 1e7] [--only speed physics training kills large]
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from distributed_graphs import road_graph

from elasticgnn import Graph
from elasticgnn.data import NodeTask, load
from elasticgnn.distributed import write_partition
from elasticgnn.training.model_file import read_model_file

ROOT = Path(__file__).resolve().parent
RESULT = ROOT / "results" / "distributed.json"
JOBS = ("speed", "physics", "training", "kills", "large")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def start_group(command: list[str], processes: int, **more: str) -> list[subprocess.Popen[bytes]]:
    """Processes of one thread that form a group over loopback."""
    port = str(free_port())
    known = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"}
    base = {**os.environ, **known, "MASTER_PORT": port, "WORLD_SIZE": str(processes), **more}
    return [
        subprocess.Popen([sys.executable, *command], env={**base, "RANK": str(rank)})
        for rank in range(processes)
    ]


def run_group(command: list[str], processes: int, **more: str) -> None:
    codes = [process.wait() for process in start_group(command, processes, **more)]
    assert codes == [0] * processes, codes


def operator_times(folder: Path, cases: list[list[object]], work: Path) -> dict[str, object]:
    """Times of one and two processes, their ratios, and bytes against 2 H d b a step."""
    found: dict[str, object] = {}
    for processes in (1, 2):
        command = [str(ROOT / "distributed_work.py"), "speed", str(folder), str(work / "out")]
        run_group(command, processes, CASES=json.dumps(cases))
        files = [work / f"out-{processes}-{rank}.json" for rank in range(processes)]
        found[str(processes)] = [json.loads(file.read_text()) for file in files]
    return {**found, "ratios": ratios(found)}


def ratios(found: dict[str, object]) -> dict[str, dict[str, float]]:
    (alone,), pair = found["1"], found["2"]  # type: ignore[misc]
    names = [name for name, value in alone.items() if isinstance(value, dict)]
    return {
        name: {
            "cpu": min(alone[name]["cpu"]) / max(min(one[name]["cpu"]) for one in pair),
            "wall": min(alone[name]["wall"]) / max(min(one[name]["wall"]) for one in pair),
            "bytes": sum(one[name]["bytes"] for one in pair),
            "peak": max(one["peak"] for one in pair) / alone["peak"],
        }
        for name in names
    }


def road_task(graph: Graph) -> NodeTask:
    """Four classes along the roads, with features that hint at them."""
    labels = torch.arange(graph.num_nodes) * 4 // graph.num_nodes
    noise = torch.randn(graph.num_nodes, 4, generator=torch.Generator().manual_seed(0))
    return NodeTask("roads", graph, noise + labels[:, None], labels, ("a", "b", "c", "d"))


def measure_speed(edges: int, work: Path) -> dict[str, object]:
    graph = road_graph(edges)
    write_partition(road_task(graph), work / "roads", parts=16, method="blocks")
    times = operator_times(work / "roads", [[8, 3, False], [40, 2, False]], work)
    return {"nodes": graph.num_nodes, "edges": graph.num_edges, **times}


def measure_physics(work: Path) -> dict[str, object]:
    task = load("coauthor-physics")
    write_partition(task, work / "physics", parts=16)
    return operator_times(work / "physics", [[5, 5, False], [64, 3, False]], work)


def train(folder: Path, model: Path, processes: int, epochs: int) -> list[str]:
    sizes = ["--epochs", str(epochs), "--checkpoint-every", "2", "-o", str(model), "--json"]
    return ["-m", "elasticgnn", "train", str(folder), *sizes]


def same_weights(first: Path, second: Path) -> bool:
    one, two = read_model_file(first)[1], read_model_file(second)[1]
    return all(torch.equal(one[name], two[name]) for name in one)


def measure_training(work: Path) -> dict[str, object]:
    """The same weights for 1, 2 and 4 processes, and their accuracy."""
    found: dict[str, object] = {}
    for name in ("pubmed", "coauthor-physics"):
        write_partition(load(name), work / name, parts=8)
        models = {p: work / f"{name}-{p}" for p in (1, 2, 4)}
        for processes, model in models.items():
            run_group(train(work / name, model, processes, 20), processes)
        found[name] = {
            "test": read_model_file(models[1])[0]["facts"]["test_accuracy"],
            "same_weights": [same_weights(models[1], models[p]) for p in (2, 4)],
        }
    return found


def measure_kills(work: Path, kills: int = 5, epochs: int = 30) -> dict[str, object]:
    """A random process killed at random moments; the end must equal the undisturbed run's."""
    write_partition(load("cora"), work / "cora", parts=8)
    whole, broken, chance = work / "whole", work / "broken", random.Random(0)
    run_group(train(work / "cora", whole, 2, epochs), 2)
    survivors = []
    for _ in range(kills):
        group = start_group(train(work / "cora", broken, 2, epochs), 2)
        time.sleep(chance.uniform(5, 30))
        victim = chance.randrange(2)
        group[victim].send_signal(signal.SIGKILL)
        began = time.monotonic()
        group[1 - victim].wait()
        group[victim].wait()
        survivors.append(time.monotonic() - began)
    run_group(train(work / "cora", broken, 2, epochs), 2)
    return {"kills": kills, "survivor_ends_s": survivors, "same": same_weights(whole, broken)}


def peak_of(command: list[str], processes: int) -> dict[str, object]:
    """Seconds, and the peak memory of each process in bytes, as the kernel counted them."""
    began = time.monotonic()
    peaks = []
    for process in start_group(command, processes):
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0, (command, status)
        peaks.append(1024 * used.ru_maxrss)
    return {"seconds": time.monotonic() - began, "peaks": peaks}


def measure_large(edges: int, work: Path) -> dict[str, object]:
    """A graph from arrays on disk to parts to one epoch of two processes."""
    graph = road_graph(edges)
    task = road_task(graph)
    np.save(work / "edges.npy", torch.stack([graph.tail, graph.head]).numpy())
    np.save(work / "x.npy", task.features.numpy())
    np.save(work / "y.npy", task.labels.numpy())
    size = {"nodes": graph.num_nodes, "edges": graph.num_edges}
    del graph, task
    files = [str(work / "edges.npy"), "--features", str(work / "x.npy")]
    files += ["--labels", str(work / "y.npy"), "--method", "blocks", "--parts", "64"]
    command = ["-m", "elasticgnn", "partition", *files, "-o", str(work / "parts")]
    cut = peak_of(command, 1)
    epoch = peak_of(train(work / "parts", work / "model", 2, 1), 2)
    return {**size, "partition": cut, "epoch_of_two": epoch}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=float, default=1e7)
    parser.add_argument("--large-edges", type=float, default=5e7)
    parser.add_argument("--only", nargs="*", choices=JOBS, default=JOBS)
    chosen = parser.parse_args()
    jobs = {
        "speed": lambda work: measure_speed(int(chosen.edges), work),
        "physics": measure_physics,
        "training": measure_training,
        "kills": measure_kills,
        "large": lambda work: measure_large(int(chosen.large_edges), work),
    }
    found = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name in chosen.only:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = {"load": os.getloadavg()[0], **jobs[name](Path(folder))}
        RESULT.write_text(json.dumps(found, indent=1) + "\n")
        print(name, json.dumps(found[name].get("ratios", found[name])))


if __name__ == "__main__":
    main()
