"""How long PRBCD must run: epochs, block size, restarts (docs/robustness_details.md).

    python studies/schedule.py results/attacks/schedule.json

Evasion of the networks named by MODELS on the Cora component at 25 %, each schedule from RESTARTS
random starts; and poisoning of ElasticGNN, whose victim trains on while it is attacked. A row holds
the accuracy left by each start. Rows that the file has are not run again.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from elasticgnn.attack import AttackBudget, GradientSettings, Retraining, attack
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, load
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model

DATA, RATE, RESTARTS = "cora-meta-0", 0.25, 3
MODELS = ("elastic", "gcn")
PLAN = TrainingPlan(epochs=200)
EVASION = ((40, 20_000), (60, 50_000), (125, 50_000), (250, 50_000), (125, 150_000), (300, 150_000))
POISONING = ((60, 50_000), (150, 50_000), (300, 50_000), (300, 150_000))


def schedule(epochs: int, block: int) -> GradientSettings:
    return GradientSettings(block_size=block, epochs=epochs, fresh_epochs=4 * epochs // 5)


def trained(task: NodeTask, name: str, seed: int) -> nn.Module:
    """The model trained on the task's graph as it is."""
    assert task.split is not None
    generator = torch.Generator().manual_seed(seed)
    model = make_model(ModelSettings(name), task, generator)
    fit(model, task, task.split, PLAN, generator)
    return model


def evaded(task: NodeTask, model: nn.Module, settings: GradientSettings, start: int) -> float:
    """Test accuracy left when PRBCD goes through the trained `model`."""
    assert task.split is not None
    draw, budget = torch.Generator().manual_seed(start), AttackBudget(rate=RATE)
    found = attack(task, task.split, budget, "prbcd", model, draw, settings=settings)
    return Victim(model, task, task.split.test).accuracy(found.apply(task.graph))


def poisoned(task: NodeTask, name: str, settings: GradientSettings, start: int) -> float:
    """Test accuracy of a network trained on the graph that PRBCD leaves while its own trains."""
    assert task.split is not None
    draw = torch.Generator().manual_seed(1000 + start)
    model = make_model(ModelSettings(name), task, draw)
    training = replace(settings, poisoning=Retraining())
    budget = AttackBudget(rate=RATE)
    found = attack(task, task.split, budget, "prbcd", model, draw, settings=training)
    bad = task.with_graph(found.apply(task.graph))
    return Victim(trained(bad, name, 0), bad, task.split.test).accuracy(bad.graph)


def measure(task: NodeTask, kind: str, name: str, epochs: int, block: int) -> dict[str, object]:
    """One row of the record."""
    settings, began = schedule(epochs, block), time.process_time()
    if kind == "evasion":
        model = trained(task, name, 0)
        left = [evaded(task, model, settings, start) for start in range(RESTARTS)]
    else:
        left = [poisoned(task, name, settings, start) for start in range(RESTARTS)]
    seconds = (time.process_time() - began) / RESTARTS
    where = {"kind": kind, "model": name, "epochs": epochs, "block": block}
    return where | {"accuracy": [round(each, 4) for each in left], "seconds": round(seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    task = load(DATA)
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    done = [(row["kind"], row["model"], row["epochs"], row["block"]) for row in rows]
    wanted = [("evasion", name, *each) for name in MODELS for each in EVASION]
    wanted += [("poisoning", "elastic", *each) for each in POISONING]
    for one in sorted(wanted, key=lambda one: one[2] * one[3]):
        if one not in done:
            rows.append(measure(task, *one))
            print(rows[-1], flush=True)
            given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
