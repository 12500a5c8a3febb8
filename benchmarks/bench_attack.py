"""Seconds per flip and peak memory of Metattack, seconds per PRBCD epoch, graphs EvA judges.

    python benchmarks/bench_attack.py [--flips 30] [--threads 2] [--data cora-meta-0]
    python benchmarks/bench_attack.py --judged results/attacks/judged.json [--threads 1]

Prints one JSON object. Times are between two steps of one attack; graphs judged are counted per
second of the clock and per second of processor time, the best of five calls, and with `--judged`
nothing else is measured.
"""

import argparse
import json
import platform
import resource
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import torch

from elasticgnn.attack import AttackBudget, GradientSettings, MetattackSettings, attack
from elasticgnn.attack.evaluation import fixed_or_drawn
from elasticgnn.attack.many_graphs import predictor
from elasticgnn.attack.perturbation import component_task
from elasticgnn.data import load
from elasticgnn.operator.flipped import FlipLists
from elasticgnn.training import make_model


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def steps(times: list[float]) -> dict[str, float]:
    """Median and fastest of the times between two reports; the first two are warm-up."""
    gaps = [after - before for before, after in pairwise(times)][2:]
    return {"median": median(gaps), "fastest": min(gaps)}


def time_metattack(task, flips: int, settings: MetattackSettings) -> dict[str, object]:
    """Seconds between flips; two runs with one seed must agree."""
    times: list[float] = []
    pairs = []
    for count in (3, flips + 3):
        generator = torch.Generator().manual_seed(0)
        found = attack(
            task,
            fixed_or_drawn(task, generator),
            AttackBudget(edges=count),
            "metattack",
            None,
            generator,
            settings=settings,
            progress=lambda flip, loss: times.append(time.perf_counter()),
        )
        pairs.append(found.pairs.tolist())
    assert pairs[1][:3] == pairs[0], "the same seed must give the same flips"
    return {"seconds_per_flip": steps(times[3:]), "peak_gigabytes": peak_gigabytes()}


def time_prbcd(task, name: str, epochs: int) -> dict[str, float]:
    """Seconds per epoch through an untrained model: training does not change the price."""
    times: list[float] = []
    generator = torch.Generator().manual_seed(0)
    split = fixed_or_drawn(task, generator)
    attack(
        task,
        split,
        AttackBudget(rate=0.05),
        "prbcd",
        make_model(name, task, generator),
        generator,
        settings=GradientSettings(epochs=epochs + 3, fresh_epochs=epochs + 3, samples=1),
        progress=lambda epoch, loss: times.append(time.perf_counter()),
    )
    return steps(times)


def time_judging(task, name: str, graphs: int = 256, rate: float = 0.05) -> dict[str, float]:
    """Flipped graphs that the loops judge in a second, `rate` of the edges new in each."""
    model = make_model(name, task, torch.Generator().manual_seed(0))
    size, flips = task.num_nodes, int(rate * task.graph.num_edges)
    random = np.random.default_rng(0)
    keys = [random.choice(size * (size - 1) // 2, flips, replace=False) for _ in range(graphs)]
    tail, head = np.triu_indices(size, 1)
    lists = FlipLists.from_keys(torch.from_numpy((tail * size + head)[np.stack(keys)]), size)
    judge = predictor(model, task)
    clock, processor = [], []
    for _ in range(5):
        began = time.perf_counter(), time.process_time()
        judge(lists)
        clock.append(time.perf_counter() - began[0])
        processor.append(time.process_time() - began[1])
    return {"clock": round(graphs / min(clock)), "processor": round(graphs / min(processor))}


def given_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="cora")
    parser.add_argument("--flips", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--judged", type=Path)
    return parser.parse_args()


def main() -> None:
    arguments = given_options()
    torch.set_num_threads(arguments.threads)
    task = component_task(load(arguments.data))
    judged = {name: time_judging(task, name) for name in ("gcn", "appnp", "elastic")}
    if arguments.judged is not None:
        record = {"threads": arguments.threads, "graphs judged per second": judged}
        arguments.judged.write_text(json.dumps(record, indent=1) + "\n")
        print(json.dumps(record))
        return
    result = {
        "graphs_judged_per_second": judged,
        "data": arguments.data,
        "nodes": task.num_nodes,
        "edges": task.graph.num_edges,
        "threads": arguments.threads,
        "machine": platform.processor() or platform.machine(),
        "metattack": time_metattack(task, arguments.flips, MetattackSettings()),
        "a_metattack": time_metattack(
            task, max(2, arguments.flips // 5), MetattackSettings(approximate=True)
        ),
        "prbcd_seconds_per_epoch": {
            name: time_prbcd(task, name, arguments.epochs) for name in ("gcn", "appnp", "elastic")
        },
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
