"""What one process of the distributed benchmark does: `python distributed_work.py JOB FOLDER OUT`.

Started by bench_distributed.py with torchrun's variables; writes OUT-P-RANK.json.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from distributed_pages import REPORTED

from elasticgnn import ElasticPenalty
from elasticgnn import elastic_message_passing as single_process
from elasticgnn.data import NodeTask, load, paper_split
from elasticgnn.distributed import DistributedGraph, PartitionFolder, elastic_message_passing
from elasticgnn.distributed.group import process_group
from elasticgnn.distributed.part import Part, ranks_of_parts
from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.training import TrainingPlan, fit

PENALTY, STEPS = ElasticPenalty(0.5, 3.0), 10
WIDTHS, ROUNDS = (1, 4, 16, 64, 256), 101  # of exchanges timed alone


def peak_bytes() -> int:
    """Largest memory of this process that was not files, since its start."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


def timed(graph: DistributedGraph, width: int, rounds: int, gradient: bool) -> dict[str, object]:
    """Wall and processor seconds of the operator, best of the rounds; bytes sent per call."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(graph.num_owned, width, generator=generator)
    if gradient:
        x.requires_grad_()
    wall, cpu, system, sent = [], [], [], 0
    pages = large_pages()
    for _ in range(rounds + 1):
        if dist.is_initialized():
            dist.barrier()
        before = graph.exchange.count["bytes"]
        begin, cpu_begin = time.perf_counter(), time.process_time()
        system_begin = resource.getrusage(resource.RUSAGE_SELF).ru_stime
        out = elastic_message_passing(x, graph, PENALTY, STEPS)
        if gradient:
            torch.autograd.grad(out.sum(), x)
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - cpu_begin)
        system.append(resource.getrusage(resource.RUSAGE_SELF).ru_stime - system_begin)
        sent = graph.exchange.count["bytes"] - before
    boundary = sum(len(rows) for rows in graph.exchange.send.values())
    model = (4 if gradient else 2) * STEPS * boundary * width * x.element_size()
    found = {name: now - pages[name] for name, now in large_pages().items()}
    times = {"wall": wall[1:], "cpu": cpu[1:], "system": system[1:], **found}
    return {**times, "bytes": sent, "bytes_of_model": model}


def large_pages() -> dict[str, int]:
    """Large pages that the machine has handed out since its start, those it did not have, and the
    memory (KiB) that it has offered its host to take."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    known = dict(line.split() for line in lines)
    found = {name: int(known.get(name, 0)) for name in ("thp_fault_alloc", "thp_fault_fallback")}
    offered = int(REPORTED.read_text()) if REPORTED.exists() else 0
    return {**found, "offered_to_host": offered}


def timed_single(task: NodeTask, width: int, rounds: int, gradient: bool) -> dict[str, object]:
    """The same of the operator for one process."""
    x = torch.randn(task.num_nodes, width, generator=torch.Generator().manual_seed(0))
    x.requires_grad_(gradient)
    wall, cpu = [], []
    for _ in range(rounds + 1):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        out = single_process(x, task.graph, PENALTY, STEPS)
        if gradient:
            torch.autograd.grad(out.sum(), x)
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - cpu_begin)
    return {"wall": wall[1:], "cpu": cpu[1:]}


def cases() -> list[tuple[str, int, int, bool]]:
    """Name, columns, rounds and whether with gradient of the cases to time."""
    return [
        (f"{width}{'-gradient' if gradient else ''}", width, rounds, gradient)
        for width, rounds, gradient in json.loads(os.environ["CASES"])
    ]


def single(folder: Path) -> dict[str, object]:
    """Times of the operator for one process."""
    task = PartitionFolder(folder).task()
    return {name: timed_single(task, *case) for name, *case in cases()}


def curve(name: Path) -> dict[str, object]:
    """Losses and accuracy of the single process on the first split of seed 0."""
    task, generator = load(str(name)), torch.Generator().manual_seed(0)
    split = paper_split(task, torch.Generator().manual_seed(0))
    model = build_model(
        ModelSettings(lambda1=3.0, lambda2=3.0), task.num_features, task.num_classes, generator
    )
    history = fit(model, task, split, TrainingPlan(epochs=int(os.environ["EPOCHS"])), generator)
    return {"loss": history.loss, "test": history.test_accuracy}


def speed(folder: Path) -> dict[str, object]:
    """Times of the cases in the job's file."""
    graph = PartitionFolder(folder).graph()
    found: dict[str, object] = {
        "owned": graph.num_owned,
        "edges": graph.local.num_edges,
        "halo": graph.num_halo,
    }
    for name, *case in cases():
        found[name] = timed(graph, *case)
    found["peak"] = peak_bytes()
    found["cpu"] = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    return found


def half(folder: Path) -> dict[str, object]:
    """The first half of the parts as a graph of its own in one process: what size alone does."""
    opened = PartitionFolder(folder)
    ranks = ranks_of_parts(opened.work, 2)
    parts = [opened.part(number) for number in (ranks == 0).nonzero()[0].tolist()]
    last = max(int(part.nodes[-1]) for part in parts)  # blocks: consecutive nodes
    graph = DistributedGraph.from_parts(
        [without_cut(part, last) for part in parts],
        lambda nodes: 0 * nodes,
        num_nodes=last + 1,
        num_parts=len(parts),
    )
    found: dict[str, object] = {"owned": graph.num_owned, "edges": graph.local.num_edges}
    return found | {name: timed(graph, *case) for name, *case in cases()}


def without_cut(part: Part, last: int) -> Part:
    """The part without its edges to nodes behind `last`."""
    kept = part.neighbour <= last
    before = np.concatenate([[0], np.cumsum(kept)])
    return Part(part.number, part.nodes, before[part.start], part.neighbour[kept], None)


def exchange(folder: Path) -> dict[str, object]:
    """Seconds of one exchange of halo rows, with nothing to compute beside it, by columns."""
    graph, found = PartitionFolder(folder).graph(), {}
    boundary = sum(len(rows) for rows in graph.exchange.send.values())
    for width in WIDTHS:
        rows = torch.zeros(graph.num_owned + graph.num_halo, width)
        seconds = []
        for _ in range(ROUNDS):
            dist.barrier()
            begin = time.perf_counter()
            graph.exchange.fill(rows)
            seconds.append(time.perf_counter() - begin)
        found[str(width)] = {"bytes": 4 * boundary * width, "seconds": sorted(seconds)[ROUNDS // 2]}
    return {"boundary": boundary, "shared": bool(graph.exchange.shared), "widths": found}


if __name__ == "__main__":
    torch.set_num_threads(1)
    job, where, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with process_group() as (rank, processes):
        jobs = {"speed": speed, "single": single, "half": half}
        jobs |= {"curve": curve, "exchange": exchange}
        result = jobs[job](where)
        out.with_name(f"{out.name}-{processes}-{rank}.json").write_text(json.dumps(result))
