"""The distributed operator and training, measured in one run; `make bench-distributed`.

Ratios of processor seconds are what counts on a shared machine: a process that waits for a core
does no work. Writes results/distributed.json: each job on its own, with revision and processor.
    python benchmarks/bench_distributed.py [--edges 1e7] [--only speed physics memory training …]
With --work FOLDER what a broken-off run has finished is used again: partitions, and stages of
the jobs that this revision has measured.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from distributed_graphs import road_graph, save_roads
from distributed_groups import (
    children,
    output_of_first,
    peak_of,
    peaks_under_torchrun,
    run_group,
    torchrun,
)
from distributed_halo import measure_halo
from distributed_pages import measure_pages

from elasticgnn import Graph
from elasticgnn.data import NodeTask, load
from elasticgnn.distributed import PartitionFolder, write_partition
from elasticgnn.distributed.checkpoint import metadata_of
from elasticgnn.distributed.manifest import MANIFEST
from elasticgnn.experiment.environment import environment
from elasticgnn.training.model.file import read_model_file

ROOT = Path(__file__).resolve().parent
RESULT = ROOT / "results" / "distributed.json"
JOBS = ("speed", "pages", "physics", "exchange", "halo", "memory", "training", "kills", "large")


def operator_times(folder: Path, cases: list[list[object]], work: Path) -> dict[str, object]:
    """Times of the single-process operator and of one and two processes, and their ratios."""
    found: dict[str, object] = {}
    for job, processes in (("single", 1), ("speed", 1), ("speed", 2)):
        command = [str(ROOT / "distributed_work.py"), job, str(folder), str(work / job)]
        run_group(command, processes, CASES=json.dumps(cases))
        files = [work / f"{job}-{processes}-{rank}.json" for rank in range(processes)]
        found[job if job == "single" else str(processes)] = [
            json.loads(file.read_text()) for file in files
        ]
    return {**found, "ratios": ratios(found)}


def ratios(found: dict[str, object]) -> dict[str, dict[str, float]]:
    """One process against the slower of two, by the clock and in processor time."""
    (single,), (alone,), pair = found["single"], found["1"], found["2"]
    names = [name for name, value in alone.items() if isinstance(value, dict)]
    return {
        name: {
            "cpu": min(alone[name]["cpu"]) / max(min(one[name]["cpu"]) for one in pair),
            "wall": min(alone[name]["wall"]) / max(min(one[name]["wall"]) for one in pair),
            "single_cpu": min(single[name]["cpu"]) / max(min(one[name]["cpu"]) for one in pair),
            "single_wall": min(single[name]["wall"]) / max(min(one[name]["wall"]) for one in pair),
            "bytes": sum(one[name]["bytes"] for one in pair),
            "bytes_of_model": sum(one[name]["bytes_of_model"] for one in pair),
            "peak": max(one["peak"] for one in pair) / alone["peak"],
        }
        for name in names
    }


def road_labels(nodes: int) -> torch.Tensor:
    """Four classes along the roads."""
    return torch.arange(nodes) * 4 // nodes


def road_features(labels: torch.Tensor) -> torch.Tensor:
    """Four numbers of each node that hint at its class."""
    noise = torch.randn(len(labels), 4, generator=torch.Generator().manual_seed(0))
    return noise.add_(labels[:, None])


def road_task(graph: Graph) -> NodeTask:
    """The task of the speed job, in memory."""
    labels = road_labels(graph.num_nodes)
    return NodeTask("roads", graph, road_features(labels), labels, ("a", "b", "c", "d"))


def measure_speed(edges: int, work: Path) -> dict[str, object]:
    folder = work / f"roads-{edges}"
    if not (folder / MANIFEST).exists():
        write_partition(road_task(road_graph(edges)), folder, parts=16, method="blocks")
    cases: list[list[object]] = [[8, 5, False], [40, 3, False]]
    times = operator_times(folder, cases, work)
    command = [str(ROOT / "distributed_work.py"), "half", str(folder), str(work / "half")]
    run_group(command, 1, CASES=json.dumps(cases))
    times["half"] = json.loads((work / "half-1-0.json").read_text())
    known = PartitionFolder(folder).manifest
    return {"nodes": known.num_nodes, "edges": known.num_edges, "asked_edges": edges, **times}


def measure_physics(work: Path) -> dict[str, object]:
    task = load("coauthor-physics")
    write_partition(task, work / "physics", parts=16)
    return operator_times(work / "physics", [[5, 80, False], [64, 25, False]], work)


def measure_exchange(work: Path) -> dict[str, object]:
    """Exchanges of two processes on Physics: through shared memory, and through sockets."""
    write_partition(load("coauthor-physics"), work / "physics", parts=16)
    found: dict[str, object] = {}
    for name, shared in (("shared", "1"), ("sockets", "0")):
        command = [str(ROOT / "distributed_work.py"), "exchange", str(work / "physics")]
        run_group([*command, str(work / name)], 2, ELASTICGNN_SHARED_MEMORY=shared)
        found[name] = json.loads((work / f"{name}-2-0.json").read_text())
    return found


def train(folder: Path, model: Path, epochs: int) -> list[str]:
    sizes = ["--epochs", str(epochs), "--checkpoint-every", "2", "-o", str(model), "--json"]
    return ["-m", "elasticgnn", "train", str(folder), *sizes]


def same_weights(first: Path, second: Path) -> bool:
    one, two = read_model_file(first)[1], read_model_file(second)[1]
    return all(torch.equal(one[name], two[name]) for name in one)


def measure_training(work: Path) -> dict[str, object]:
    """Curves and weights of 1, 2 and 4 processes, beside those of the single process."""
    found: dict[str, object] = {}
    for name, epochs in (("pubmed", 100), ("coauthor-physics", 30)):
        write_partition(load(name), work / name, parts=8)
        models = {p: work / f"{name}-{p}" for p in (1, 2, 4)}
        results = {p: output_of_first(train(work / name, models[p], epochs), p) for p in models}
        curve = [str(ROOT / "distributed_work.py"), "curve", name, str(work / "curve")]
        run_group(curve, 1, EPOCHS=str(epochs))
        alone = json.loads((work / "curve-1-0.json").read_text())
        pairs = list(zip(results[1]["loss"], alone["loss"], strict=True))
        found[name] = {
            "epochs": epochs,
            "test": {str(p): results[p]["test"] for p in models},
            "single_process_test": alone["test"],
            "largest_difference_of_losses": max(abs(one - other) for one, other in pairs),
            "last_loss": results[1]["loss"][-1],
            "same_curve": [
                all(results[p][curve] == results[1][curve] for curve in ("loss", "val_loss"))
                for p in (2, 4)
            ],
            "same_weights": [same_weights(models[1], models[p]) for p in (2, 4)],
        }
    return found


def measure_kills(work: Path, kills: int = 5, epochs: int = 60) -> dict[str, object]:
    """SIGKILL for a random process at random moments; torchrun starts the group again each time."""
    write_partition(load("cora"), work / "cora", parts=8)
    whole, broken, chance = work / "whole", work / "broken", random.Random(0)
    state, moments = work / "broken.checkpoint", []
    state.unlink(missing_ok=True)  # of a run that was broken off
    run_group(train(work / "cora", whole, epochs), 2)
    group = torchrun(train(work / "cora", broken, epochs), 2, "--max-restarts", str(kills))
    for epoch in sorted(chance.sample(range(2, epochs * 4 // 5), kills)):
        reached = wait_for_epoch(state, group, epoch)
        time.sleep(chance.uniform(0.0, 0.02))  # anywhere in an epoch or between two
        victim = chance.randrange(2)
        os.kill(children(group.pid)[victim], signal.SIGKILL)
        moments.append({"rank": victim, "after_epoch": reached})
    assert group.wait() == 0
    return {"kills": moments, "epochs": epochs, "same": same_weights(whole, broken)}


def wait_for_epoch(state: Path, group: subprocess.Popen[bytes], epoch: int) -> int:
    """Until a new checkpoint is of this epoch or a later one, which it returns."""
    before = state.stat().st_mtime_ns if state.exists() else 0
    while True:
        assert group.poll() is None
        if state.exists() and state.stat().st_mtime_ns != before:
            reached = len(json.loads(metadata_of(state.read_bytes())["epochs"]))
            if reached >= epoch:
                return reached
        time.sleep(0.002)


def save_road_files(edges: int, work: Path) -> tuple[dict[str, int], list[str]]:
    """A road-like task as .npy files, its size, and the command that partitions it."""
    size = save_roads(edges, work)
    labels = road_labels(size["nodes"])
    np.save(work / "x.npy", road_features(labels).numpy())
    np.save(work / "y.npy", labels.numpy())
    files = [str(work / "edges.npy"), "--features", str(work / "x.npy")]
    files += ["--labels", str(work / "y.npy"), "--method", "blocks", "--parts", "64"]
    command = ["-m", "elasticgnn", "partition", *files, "-o", str(work / "parts")]
    return size, command


def once(work: Path, stage: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `measure` finds, or what this same revision found in this folder before."""
    file, revision = work / f"{stage}.json", environment()["revision"]
    if file.exists():
        found: dict[str, Any] = json.loads(file.read_text())
        if found.pop("revision") == revision and not revision.endswith("+"):
            return found
    found = measure()
    file.write_text(json.dumps({**found, "revision": revision}))
    return found


def measure_large(edges: int, work: Path, counts: tuple[int, ...] = (2,)) -> dict[str, Any]:
    """From arrays on disk to parts to one epoch: seconds and peak memory of every process."""
    work = work / str(edges)
    work.mkdir(exist_ok=True)

    def partition() -> dict[str, Any]:
        size, command = save_road_files(edges, work)
        shutil.rmtree(work / "parts", ignore_errors=True)  # half a folder would take half the time
        return {**size, "partition": peak_of(command)}

    def epoch(count: int) -> dict[str, Any]:
        return peaks_under_torchrun(train(work / "parts", work / f"model{count}", 1), count)

    found = once(work, "partition", partition)
    for count in counts:
        found[f"epoch_of_{count}"] = once(work, f"epoch{count}", partial(epoch, count))
    return found


def measure_memory(edges: int, work: Path) -> dict[str, object]:
    """The larger of two processes, and the partitioner, against the single process."""
    found = measure_large(edges, work, (1, 2))
    (alone,) = found["epoch_of_1"]["peaks"]
    found["ratios"] = {
        "partition": max(found["partition"]["peaks"]) / alone,
        "larger_of_two": max(found["epoch_of_2"]["peaks"]) / alone,
    }
    models = [work / str(edges) / f"model{count}" for count in (1, 2)]
    found["same_weights"] = same_weights(*models)
    return found


@contextmanager
def work_folder(kept: Path | None, job: str) -> Iterator[Path]:
    """Where a job's files lie: for this run alone, or in a folder that stays."""
    if kept is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    (kept / job).mkdir(parents=True, exist_ok=True)
    yield kept / job


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=float, default=1e7)
    parser.add_argument("--large-edges", type=float, default=5e7)
    parser.add_argument("--work", type=Path, help="folder that is kept and used again")
    parser.add_argument("--only", nargs="*", choices=JOBS, default=JOBS)
    chosen = parser.parse_args()
    jobs = {
        "speed": lambda work: measure_speed(int(chosen.edges), work),
        "pages": lambda _: measure_pages(),
        "physics": measure_physics,
        "exchange": measure_exchange,
        "halo": lambda _: measure_halo(),
        "memory": lambda work: measure_memory(int(chosen.edges), work),
        "training": measure_training,
        "kills": measure_kills,
        "large": lambda work: measure_large(int(chosen.large_edges), work),
    }
    for name in chosen.only:
        with work_folder(chosen.work, name) as folder:
            about = {"environment": environment(), "load": os.getloadavg()[0]}
            measured = {**about, **jobs[name](folder)}
        found = json.loads(RESULT.read_text()) if RESULT.exists() else {}  # jobs may run apart
        RESULT.write_text(json.dumps({**found, name: measured}, indent=1) + "\n")
        print(name, json.dumps(measured.get("ratios", measured)))


if __name__ == "__main__":
    main()
