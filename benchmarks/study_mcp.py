"""l21 against MCP under adaptive PRBCD on the Cora component: the numbers of docs/attacks.md.

The data are the clean graph and the fixed split of the robustness literature.

    python benchmarks/study_mcp.py docs/results/attacks/mcp.json [--rates 0.25,0.05]

Every network is trained with l21 (3, 3). "l21" predicts with the same penalty, "l21, lambda2 = 0"
and "mcp" with another one. Each is attacked through itself with two step sizes; MCP, whose
gradient vanishes on torn edges, also through its convex and its less concave neighbours with the
same weights. The accuracy reported is the worst over all attacks known to the study, those found
for the other penalties included. Resumes from the file it writes.
"""

import argparse
import json
from pathlib import Path

import torch

from elasticgnn.attack import AttackBudget, GradientSettings, attack, with_penalty
from elasticgnn.attack.evaluation import fixed_or_drawn
from elasticgnn.attack.perturbation import component_task
from elasticgnn.attack.victim import Victim
from elasticgnn.data import load
from elasticgnn.nn import ModelSettings
from elasticgnn.problem import ElasticPenalty
from elasticgnn.training import TrainingPlan, fit, make_model

PENALTIES = {
    "l21": ElasticPenalty(3.0, 3.0),
    "l21, lambda2 = 0": ElasticPenalty(3.0, 0.0),
    "mcp": ElasticPenalty(3.0, 0.0, "mcp", 2.5),
}
ALSO_THROUGH = {"mcp": (ElasticPenalty(3.0, 0.0, "mcp", 6.0),)}
STEPS = (100.0, 1000.0)


def measure(task, seed: int, rate: float, epochs: int) -> list[dict[str, object]]:
    split = fixed_or_drawn(task, seed)
    generator = torch.Generator().manual_seed(seed)
    model = make_model(ModelSettings("elastic", dropout=0.8), task, generator)
    fit(model, task, split, TrainingPlan(epochs=200), generator)
    models = {name: with_penalty(model, penalty) for name, penalty in PENALTIES.items()}
    victims = {name: Victim(changed, task, split.test) for name, changed in models.items()}
    graphs = {}
    for name, changed in models.items():
        through = [changed, *(with_penalty(model, p) for p in ALSO_THROUGH.get(name, ()))]
        for number, target in enumerate(through):
            for step in STEPS:
                settings = GradientSettings(
                    block_size=20_000,
                    epochs=epochs,
                    fresh_epochs=4 * epochs // 5,
                    samples=8,
                    learning_rate=step,
                )
                draw = torch.Generator().manual_seed(seed)
                budget = AttackBudget(rate=rate)
                found = attack(task, split, budget, "prbcd", target, draw, settings=settings)
                graphs[name, number, step] = found.apply(task.graph)
    rows = []
    for name, victim in victims.items():
        every = {key: victim.accuracy(graph) for key, graph in graphs.items()}
        own = min(value for key, value in every.items() if key[0] == name and key[1] == 0)
        rows.append(
            {
                "penalty": name,
                "seed": seed,
                "rate": rate,
                "clean": victim.accuracy(task.graph),
                "adaptive": own,
                "worst": min(every.values()),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--data", default="cora-meta-0")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", default="0.25,0.05,0.15")
    parser.add_argument("--epochs", type=int, default=60)
    arguments = parser.parse_args()
    task = component_task(load(arguments.data))
    rows = json.loads(arguments.output.read_text()) if arguments.output.exists() else []
    done = {(row["seed"], row["rate"]) for row in rows}
    for rate in map(float, arguments.rates.split(",")):
        for seed in range(arguments.seeds):
            if (seed, rate) not in done:
                rows += measure(task, seed, rate, arguments.epochs)
                arguments.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
