"""What the whole comparison costs, predicted from short cells of it (docs/attacks.md).

    python studies/table_cost.py results/attacks/table_cost.json

Ten models, four attacks (DICE, PRBCD, LR-BCD, EvA), four budgets and three seeds on the bundled
Cora, with the efforts that `elasticgnn robustness` has by default. Of each model, and each network
that an attack goes through: the processor seconds of a training, of gradient attacks of 5 and 15
epochs (which give those of an epoch) and of 2 and 6 samples, and of an EvA of 20 generations. A
whole cell is the sum of its parts. Models that the file has are not measured again.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from elasticgnn.attack import AttackBudget, EvolutionSettings, GradientSettings, attack
from elasticgnn.attack.evaluation import fixed_or_drawn
from elasticgnn.attack.many_graphs import predictor
from elasticgnn.attack.methods import GRADIENT_METHODS
from elasticgnn.attack.perturbation import component_task
from elasticgnn.attack.run import Settings
from elasticgnn.data import NodeTask, load
from elasticgnn.nn import ModelSettings
from elasticgnn.operator.flipped import FlipLists
from elasticgnn.robustness.contestant import with_dropouts
from elasticgnn.robustness.presence import as_presence
from elasticgnn.robustness.routes import gradient_routes, hears_graph
from elasticgnn.training import TrainingPlan

MODELS = "elastic,elastic+none,elastic+mcp,rung,softmedian,gnnguard,jaccard,gprgnn+adversarial"
MODELS += ",gcn,mlp"
DROPOUTS, RATES = (0.5, 0.8), (0.05, 0.25)
SHORT = EvolutionSettings(generations=20, screened=200)


def seconds_of(
    task: NodeTask, victim: nn.Module, method: str, rate: float, settings: Settings
) -> float:
    """Processor time of one attack."""
    began, draw = time.process_time(), torch.Generator().manual_seed(0)
    split = fixed_or_drawn(task, 0)
    attack(task, split, AttackBudget(rate=rate), method, victim, draw, settings=settings)
    return time.process_time() - began


def gradient_cell(task: NodeTask, way: nn.Module, method: str, rate: float) -> dict[str, float]:
    """Seconds of an epoch, of a sample, and of what comes once."""
    base = GradientSettings(epochs=5, fresh_epochs=4, samples=2)
    short = seconds_of(task, way, method, rate, base)
    longer = seconds_of(task, way, method, rate, replace(base, epochs=15, fresh_epochs=12))
    sampled = seconds_of(task, way, method, rate, replace(base, samples=6))
    epoch, sample = max(0.0, (longer - short) / 10), max(0.0, (sampled - short) / 4)
    once = max(0.0, short - 5 * epoch - 2 * sample)
    return {"epoch": epoch, "sample": sample, "once": once}


def evolution_cell(task: NodeTask, model: nn.Module, rate: float) -> dict[str, float]:
    """Seconds of a graph within EvA, and of judging alone."""
    flips = AttackBudget(rate=rate).flips(task.graph)
    whole = seconds_of(task, model, "eva", rate, SHORT)
    keys = torch.arange(task.num_nodes - flips, task.num_nodes).repeat(20, 1)
    lists, predict = FlipLists.from_keys(keys, task.num_nodes), predictor(model, task)
    began = time.process_time()
    predict(lists)
    judged = (time.process_time() - began) / len(lists)
    return {"graph": whole / graphs_judged(SHORT, flips), "judged": judged}


def graphs_judged(settings: EvolutionSettings, flips: int) -> float:
    """About how many graphs EvA judges: the start, rounds of local search, children."""
    rounds = -(-settings.generations // settings.screen_every)
    tried = 10 * settings.screened + rounds * (1.5 * settings.screened + flips + 13)
    return tried + settings.population + settings.children * settings.generations


def measure(task: NodeTask, name: str) -> dict[str, Any]:
    """All parts of one model."""
    contestant, began = with_dropouts(name, ModelSettings(), DROPOUTS), time.process_time()
    model = contestant.train(task, fixed_or_drawn(task, 0), TrainingPlan(epochs=200), 0)
    row: dict[str, Any] = {"model": name, "training": time.process_time() - began, "cells": []}
    ways = {route: way for route, way in gradient_routes(model).items() if hears_graph(way)}
    for rate in RATES:
        flips = AttackBudget(rate=rate).flips(task.graph)
        for method in ("prbcd", "lrbcd") if ways else ():
            for route, way in ways.items():
                about = {"attack": method, "route": route, "rate": rate, "flips": flips}
                row["cells"].append(about | gradient_cell(task, way, method, rate))
        if hears_graph(model):
            about = {"attack": "eva", "route": "itself", "rate": rate, "flips": flips}
            row["cells"].append(about | evolution_cell(task, model, rate))
    return row


def cell_seconds(cell: dict[str, Any]) -> float:
    """Of a whole cell at the default efforts."""
    if cell["attack"] in GRADIENT_METHODS:
        return float(250 * cell["epoch"] + 20 * cell["sample"] + cell["once"])
    return float(cell["graph"] * graphs_judged(EvolutionSettings(), cell["flips"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    task = as_presence(component_task(load("cora")))
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    for name in MODELS.split(","):
        if name not in [row["model"] for row in rows]:
            rows.append(measure(task, name))
            cells = [f"{c['attack']} {cell_seconds(c):.0f}" for c in rows[-1]["cells"]]
            print(name, f"training {rows[-1]['training']:.1f}", *cells, flush=True)
            given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
