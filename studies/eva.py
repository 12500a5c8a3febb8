"""EvA against PRBCD at equal budget on the Cora component (docs/attacks.md).

    python studies/eva.py results/attacks/eva.json [--models gcn,elastic,appnp]
        [--rates 0.05,0.1] [--generations 6000]

One network each on the fixed split; PRBCD with the schedule that `studies/schedule.py` settled on.
A row holds what each attack leaves of the test accuracy, EvA's curve over evaluations, and the
seconds of processor time. Rows that the file has are not run again.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn

from elasticgnn.attack import AttackBudget, EvolutionSettings, GradientSettings, attack
from elasticgnn.attack.run import Settings
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, load
from elasticgnn.training import TrainingPlan, fit, make_model

DATA = "cora-meta-0"
PRBCD = GradientSettings(epochs=250, fresh_epochs=200, block_size=50_000, restarts=2)
EVERY = 100  # generations between two points of the curve


def trained(task: NodeTask, name: str) -> nn.Module:
    """The model with default settings after 200 epochs."""
    assert task.split is not None
    generator = torch.Generator().manual_seed(0)
    model = make_model(name, task, generator)
    fit(model, task, task.split, TrainingPlan(epochs=200), generator)
    return model


def measure(
    task: NodeTask, name: str, rate: float, method: str, given: Settings
) -> dict[str, object]:
    """One row of the record."""
    assert task.split is not None
    model, began = trained(task, name), time.process_time()
    draw, budget = torch.Generator().manual_seed(0), AttackBudget(rate=rate)
    found = attack(task, task.split, budget, method, model, draw, settings=given)
    victim = Victim(model, task, task.split.test)
    row: dict[str, object] = {"model": name, "rate": rate, "method": method}
    row |= {"flips": len(found), "clean": round(victim.accuracy(task.graph), 4)}
    row |= {"left": round(victim.accuracy(found.apply(task.graph)), 4)}
    row |= {"seconds": round(time.process_time() - began, 1)}
    if isinstance(given, EvolutionSettings):
        row["generations"], row["children"] = given.generations, given.children
        row["curve"] = [round(1 - value, 4) for value in found.loss[EVERY - 1 :: EVERY]]
        row["every"] = EVERY
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--models", default="gcn,elastic,appnp")
    parser.add_argument("--rates", default="0.05,0.1")
    parser.add_argument("--generations", type=int, default=6000)
    given = parser.parse_args()
    task = load(DATA)
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    done = [(row["model"], row["rate"], row["method"]) for row in rows]
    methods = {"prbcd": PRBCD, "eva": EvolutionSettings(generations=given.generations)}
    for name in given.models.split(","):
        for rate in map(float, given.rates.split(",")):
            for method, settings in methods.items():
                if (name, rate, method) not in done:
                    rows.append(measure(task, name, rate, method, settings))
                    print(rows[-1], flush=True)
                    given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
