"""Seconds per flip and peak memory of Metattack, and seconds per PRBCD epoch.

    python benchmarks/bench_attack.py [--flips 30] [--threads 2] [--data cora-meta-0]

Prints one JSON object. Times are between two steps of one attack.
"""

import argparse
import json
import platform
import resource
import time
from itertools import pairwise
from statistics import median

import torch

from elasticgnn.attack import AttackBudget, GradientSettings, MetattackSettings, attack
from elasticgnn.attack.perturbation import component_task
from elasticgnn.cli.attack import attack_split
from elasticgnn.data import load
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
            attack_split(task, generator),
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
    split = attack_split(task, generator)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="cora")
    parser.add_argument("--flips", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    task = component_task(load(arguments.data))
    result = {
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
