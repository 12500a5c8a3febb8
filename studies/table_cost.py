"""What the whole comparison costs, predicted from short cells of it (docs/attacks.md).

    python studies/table_cost.py results/attacks/table_cost.json

Ten models, four attacks (DICE, PRBCD, LR-BCD, EvA), four budgets and three seeds on the bundled
Cora, with the efforts that `elasticgnn robustness` has by default. Of each model, and each network
that a gradient attack goes through, in processor seconds: 20 epochs of training (a tenth), PRBCD of
3 and 9 epochs (which give those of an epoch) and of 2 and 6 samples, and an EvA of 5 generations,
all at 25 %. A whole cell is the sum of its parts; LR-BCD, PRBCD with another projection, is counted
as PRBCD. Models that the file has are not measured again.
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
DROPOUTS, RATE, EPOCHS = (0.5, 0.8), 0.25, 20
SHORT = EvolutionSettings(generations=5, screen_every=5, screened=50)


def seconds_of(task: NodeTask, victim: nn.Module, method: str, settings: Settings) -> float:
    """Processor time of one attack."""
    began, draw = time.process_time(), torch.Generator().manual_seed(0)
    split = fixed_or_drawn(task, 0)
    attack(task, split, AttackBudget(rate=RATE), method, victim, draw, settings=settings)
    return time.process_time() - began


def gradient_cell(task: NodeTask, way: nn.Module) -> dict[str, float]:
    """Seconds of an epoch, of a sample, and of what comes once."""
    base = GradientSettings(epochs=3, fresh_epochs=2, samples=2)
    short = seconds_of(task, way, "prbcd", base)
    longer = seconds_of(task, way, "prbcd", replace(base, epochs=9, fresh_epochs=7))
    sampled = seconds_of(task, way, "prbcd", replace(base, samples=6))
    epoch, sample = max(0.0, (longer - short) / 6), max(0.0, (sampled - short) / 4)
    once = max(0.0, short - 3 * epoch - 2 * sample)
    return {"epoch": epoch, "sample": sample, "once": once}


def evolution_cell(task: NodeTask, model: nn.Module) -> dict[str, float]:
    """Seconds of a graph within EvA, and of judging one alone."""
    flips = AttackBudget(rate=RATE).flips(task.graph)
    whole = seconds_of(task, model, "eva", SHORT)
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
    model = contestant.train(task, fixed_or_drawn(task, 0), TrainingPlan(epochs=EPOCHS), 0)
    row: dict[str, Any] = {"model": name, "training": time.process_time() - began}
    row |= {"routes": {}, "flips": AttackBudget(rate=RATE).flips(task.graph)}
    for route, way in gradient_routes(model).items():
        if hears_graph(way):
            row["routes"][route] = gradient_cell(task, way)
    return row | {"eva": evolution_cell(task, model) if hears_graph(model) else None}


def whole_cells(row: dict[str, Any]) -> tuple[float, float, float]:
    """Seconds of a training, and of PRBCD through all routes and of EvA at one budget."""
    gradient = [250 * r["epoch"] + 20 * r["sample"] + r["once"] for r in row["routes"].values()]
    graphs = graphs_judged(EvolutionSettings(), row["flips"])
    evolution = 0.0 if row["eva"] is None else row["eva"]["graph"] * graphs
    return 200 / EPOCHS * row["training"], sum(gradient), evolution


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    task = as_presence(component_task(load("cora")))
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    for name in MODELS.split(","):
        if name not in [row["model"] for row in rows]:
            rows.append(measure(task, name))
            print(name, *(f"{part:.1f}" for part in whole_cells(rows[-1])), flush=True)
            given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
