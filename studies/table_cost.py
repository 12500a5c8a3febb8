"""What the whole comparison costs, predicted from short cells of it (docs/robustness_details.md).

    python studies/table_cost.py results/attacks/table_cost.json

Ten models, four attacks (DICE, PRBCD, LR-BCD, EvA), four budgets and three seeds on the bundled
Cora, with the efforts that `elasticgnn robustness` has by default. Of each model, and each network
that a gradient attack goes through, in processor seconds: a whole training with two dropouts, PRBCD
of 5 and 25 epochs (which give those of an epoch) and of 2 and 12 samples, and an EvA of 20
generations with one round of local search, all at 25 %. A whole cell is the sum of its parts;
LR-BCD, PRBCD with another projection, is counted as PRBCD. Models that the file has are not
measured again. `--whole jaccard` then runs PRBCD and EvA through that model in full, beside the
prediction.
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
from elasticgnn.attack.evolution import FIRST, FIRST_ALONE
from elasticgnn.attack.exchange import AGAIN, OUT, SWAPS
from elasticgnn.attack.merging import GRAPHS
from elasticgnn.attack.perturbation import component_task
from elasticgnn.attack.run import Settings
from elasticgnn.data import NodeTask, load
from elasticgnn.nn import ModelSettings
from elasticgnn.robustness.contestant import with_dropouts
from elasticgnn.robustness.presence import as_presence
from elasticgnn.robustness.routes import gradient_routes, uses_graph
from elasticgnn.training import TrainingPlan

MODELS = "elastic,elastic+none,elastic+mcp,rung,softmedian,gnnguard,jaccard,gprgnn+adversarial"
MODELS += ",gcn,mlp"
DROPOUTS, RATE = (0.5, 0.8), 0.25
SHORT = EvolutionSettings(generations=20, screen_every=20, screened=200, together=1)
LONG = GradientSettings(epochs=250)


def seconds_of(task: NodeTask, victim: nn.Module, method: str, settings: Settings) -> float:
    """Processor time of one attack."""
    began, draw = time.process_time(), torch.Generator().manual_seed(0)
    split = fixed_or_drawn(task, torch.Generator().manual_seed(0))
    attack(task, split, AttackBudget(rate=RATE), method, victim, draw, settings=settings)
    return time.process_time() - began


def gradient_cell(task: NodeTask, way: nn.Module) -> dict[str, float]:
    """Seconds of an epoch, of a sample, and of what comes once."""
    base = GradientSettings(epochs=5, fresh_epochs=4, samples=2)
    seconds_of(task, way, "prbcd", replace(base, epochs=1, fresh_epochs=1))  # what loads at first
    short = seconds_of(task, way, "prbcd", base)
    longer = seconds_of(task, way, "prbcd", replace(base, epochs=25, fresh_epochs=20))
    sampled = seconds_of(task, way, "prbcd", replace(base, samples=12))
    epoch, sample = max(0.0, (longer - short) / 20), max(0.0, (sampled - short) / 10)
    once = max(0.0, short - 5 * epoch - 2 * sample)
    return {"epoch": epoch, "sample": sample, "once": once}


def evolution_cell(task: NodeTask, model: nn.Module) -> dict[str, float]:
    """Seconds of a graph within EvA."""
    flips = AttackBudget(rate=RATE).flips(task.graph)
    return {"graph": seconds_of(task, model, "eva", SHORT) / graphs_judged(SHORT, flips)}


def graphs_judged(settings: EvolutionSettings, flips: int) -> float:
    """About how many graphs EvA judges: the start, rounds of local search, children.

    Half of the screened pairs share `together` graphs first; they and as many known ones are tried
    again AGAIN at a time, those of the individual left out OUT at a time. Tried alone, each pair is
    a graph of its own.
    """
    rounds, screened = -(-settings.generations // settings.screen_every), settings.screened
    if settings.together == 1:
        tried = FIRST_ALONE * screened + rounds * (1.5 * screened + flips + len(SWAPS))
    else:
        pairs = screened / 2 + screened / AGAIN
        tried = FIRST * pairs + rounds * (pairs + flips / OUT + GRAPHS + 2 * len(SWAPS))
    return tried + settings.population + settings.children * settings.generations


def measure(task: NodeTask, name: str) -> dict[str, Any]:
    """All parts of one model."""
    contestant = with_dropouts(name, ModelSettings(), DROPOUTS)
    split = fixed_or_drawn(task, torch.Generator().manual_seed(0))
    contestant.train(task, split, TrainingPlan(epochs=2), 0)  # what loads at first
    began = time.process_time()
    model = contestant.train(task, split, TrainingPlan(epochs=200), 0)
    row: dict[str, Any] = {"model": name, "training": time.process_time() - began}
    row |= {"routes": {}, "flips": AttackBudget(rate=RATE).flips(task.graph)}
    for route, way in gradient_routes(model).items():
        if uses_graph(way):
            row["routes"][route] = gradient_cell(task, way)
    return row | {"eva": evolution_cell(task, model) if uses_graph(model) else None}


def whole_cells(row: dict[str, Any]) -> tuple[float, float, float]:
    """Seconds of a training, and of PRBCD through all routes and of EvA at one budget."""
    each = [LONG.epochs * r["epoch"] + LONG.samples * r["sample"] + r["once"] for r in routes(row)]
    graphs = graphs_judged(EvolutionSettings(), row["flips"])
    evolution = 0.0 if row["eva"] is None else row["eva"]["graph"] * graphs
    return row["training"], sum(each), evolution


def routes(row: dict[str, Any]) -> list[dict[str, float]]:
    """The parts of PRBCD through each network."""
    return list(row["routes"].values())


def run_whole(task: NodeTask, name: str) -> dict[str, float]:
    """Seconds of PRBCD and of EvA with the default efforts, through a model itself."""
    contestant = with_dropouts(name, ModelSettings(), DROPOUTS)
    split = fixed_or_drawn(task, torch.Generator().manual_seed(0))
    model = contestant.train(task, split, TrainingPlan(epochs=200), 0)
    gradient = seconds_of(task, model, "prbcd", LONG)
    return {"prbcd": gradient, "eva": seconds_of(task, model, "eva", EvolutionSettings())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--whole", help="model whose attacks are run in full")
    given = parser.parse_args()
    torch.set_num_threads(1)
    task = as_presence(component_task(load("cora")))
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    for name in MODELS.split(","):
        if name not in [row["model"] for row in rows]:
            rows.append(measure(task, name))
            print(name, *(f"{part:.1f}" for part in whole_cells(rows[-1])), flush=True)
            given.output.write_text(json.dumps(rows, indent=1) + "\n")
    for row in rows:
        if row["model"] == given.whole:
            row["whole"] = run_whole(task, given.whole)
            print(row["whole"], flush=True)
    given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
