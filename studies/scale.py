"""Why MCP at prediction costs 1 point in one study and 6 in another: the scale of the logits.

    python studies/scale.py results/attacks/scale.json

Networks trained with l21 (3, 3) on the fixed split of the Cora component, with the dropout of
`studies/mcp.py` (0.8) and that of `elasticgnn robustness` (0.5). Of each: test accuracy with l21,
with MCP (3, 0, concavity 2.5) at prediction and without edges, the mean difference |delta| that an
edge bridges between the backbone's logits, and the share of edges that MCP tears (their dual is 0
though they bridge something). Rows that the file has are not run again.
"""

import argparse
import json
from pathlib import Path

import torch

from elasticgnn.attack import HARDENED, with_penalty
from elasticgnn.attack.victim import Victim
from elasticgnn.data import load
from elasticgnn.nn import ElasticGNN, ModelSettings
from elasticgnn.operator import elastic_state
from elasticgnn.problem import ElasticPenalty
from elasticgnn.training import TrainingPlan, fit, make_model

DATA, SEEDS = "cora-meta-0", 3


@torch.no_grad()
def measure(dropout: float, seed: int) -> dict[str, float]:
    """One trained network."""
    task = load(DATA)
    assert task.split is not None
    generator = torch.Generator().manual_seed(seed)
    model = make_model(ModelSettings("elastic", dropout=dropout), task, generator)
    assert isinstance(model, ElasticGNN)
    with torch.enable_grad():
        fit(model, task, task.split, TrainingPlan(epochs=200), generator)
    ways = {"l21": model, "mcp": with_penalty(model, HARDENED)}
    ways["no edges"] = with_penalty(model, ElasticPenalty(0.0, 0.0))
    row = {"dropout": dropout, "seed": float(seed)}
    for name, way in ways.items():
        row[name] = round(Victim(way, task, task.split.test).accuracy(task.graph), 4)
    logits = model.logits(task.features)
    dual = elastic_state(logits, task.graph, HARDENED, model.K).dual.norm(dim=1)
    bridged = task.graph.difference(logits).norm(dim=1)
    row["bridged"] = round(float(bridged.mean()), 3)
    row["torn"] = round(float(((dual < 1e-6) & (bridged > 1e-3)).double().mean()), 4)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    done = [(row["dropout"], row["seed"]) for row in rows]
    for seed in range(SEEDS):
        for dropout in (0.5, 0.8):
            if (dropout, seed) not in done:
                rows.append(measure(dropout, seed))
                print(rows[-1], flush=True)
                given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
