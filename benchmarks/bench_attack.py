"""Seconds per flip and peak memory of Metattack, and seconds per PRBCD epoch.

    python benchmarks/bench_attack.py [--flips 30] [--threads 2] [--data cora-meta-0]

Prints one JSON object. The flips found are checked against a second run with the same seed.
"""

import argparse
import json
import platform
import resource
import time

import torch

from elasticgnn.attack import AttackBudget, GradientSettings, MetattackSettings, attack
from elasticgnn.attack.perturbation import component_task
from elasticgnn.cli.attack import attack_split
from elasticgnn.data import load
from elasticgnn.training import make_model


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def time_metattack(task, flips: int, settings: MetattackSettings) -> dict[str, object]:
    """A short run warms up and pays for the labels; the difference of two runs is the price."""
    seconds, pairs = [], []
    for count in (2, 2 + flips, 2 + flips):
        generator = torch.Generator().manual_seed(0)
        split = attack_split(task, generator)
        begin = time.perf_counter()
        found = attack(
            task, split, AttackBudget(edges=count), "metattack", None, generator, settings=settings
        )
        seconds.append(time.perf_counter() - begin)
        pairs.append(found.pairs.tolist())
    assert pairs[1] == pairs[2], "the same seed must give the same flips"
    return {
        "seconds_per_flip": (min(seconds[1:]) - seconds[0]) / flips,
        "peak_gigabytes": peak_gigabytes(),
    }


def time_prbcd(task, name: str, epochs: int) -> float:
    """Seconds per epoch through an untrained model: training does not change the price."""
    generator = torch.Generator().manual_seed(0)
    split = attack_split(task, generator)
    model = make_model(name, task, generator)
    seconds = []
    for count in (2, 2 + epochs):
        settings = GradientSettings(epochs=count, fresh_epochs=count, samples=1)
        begin = time.perf_counter()
        budget = AttackBudget(rate=0.05)
        attack(task, split, budget, "prbcd", model, generator, settings=settings)
        seconds.append(time.perf_counter() - begin)
    return (seconds[1] - seconds[0]) / epochs


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
