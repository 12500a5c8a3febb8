"""How little harm a model can do: clean accuracy against the worst under attack (docs/attacks.md).

    python studies/harmless.py results/attacks/harmless.json [--dropouts 0.5,0.8]

One ElasticGNN per dropout on the Cora component. Two dials at prediction, both computed from the
backbone alone, so that no flip moves them. share: that part of all nodes, the least sure by the
backbone, hears the graph (`Trusting`), the others keep the backbone's class. plausible: a node that
hears the graph may only become a class that the backbone gives at least this part of its largest
chance. Every setting is judged under the same flips: PRBCD (40 epochs on 20,000 pairs) at RATES
through the ElasticGNN and through `Trusting` at the shares of ADAPTIVE. "worst" counts smaller
budgets too. Rows of a dropout that the file has are not run again.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import Tensor

from elasticgnn.attack import AttackBudget, GradientSettings, attack
from elasticgnn.data import NodeTask, load
from elasticgnn.defence import Trusting
from elasticgnn.graph import Graph
from elasticgnn.nn import ElasticGNN, ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model

DATA, RATES = "cora-meta-0", (0.05, 0.25)
SHARES = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PLAUSIBLE = (0.0, 0.03, 0.1)
ADAPTIVE = (0.5, 0.8)
PRBCD = GradientSettings(epochs=40, fresh_epochs=32, block_size=20_000)


def trained(task: NodeTask, dropout: float) -> ElasticGNN:
    """ElasticGNN (3, 3) after 200 epochs on the fixed split."""
    assert task.split is not None
    generator = torch.Generator().manual_seed(0)
    model = make_model(ModelSettings("elastic", dropout=dropout), task, generator)
    fit(model, task, task.split, TrainingPlan(epochs=200), generator)
    assert isinstance(model, ElasticGNN)
    return model.eval()


def threshold(model: ElasticGNN, task: NodeTask, share: float) -> float:
    """The certainty below which a share of all nodes lies."""
    sure = model.logits(task.features).detach().softmax(1).amax(1)
    return 1.0 if share == 1 else float(torch.quantile(sure, share)) if share else 0.0


def attacked(task: NodeTask, model: ElasticGNN) -> dict[float, list[Graph]]:
    """The graphs that the attacks leave, by rate; rate 0 is the clean one."""
    assert task.split is not None
    graphs: dict[float, list[Graph]] = {0.0: [task.graph]}
    ways = [model, *(Trusting(model, threshold(model, task, share)) for share in ADAPTIVE)]
    for rate in RATES:
        budget, graphs[rate] = AttackBudget(rate=rate), []
        for way in ways:
            draw = torch.Generator().manual_seed(0)
            found = attack(task, task.split, budget, "prbcd", way, draw, settings=PRBCD)
            graphs[rate].append(found.apply(task.graph))
    return graphs


@torch.no_grad()
def predicted(model: ElasticGNN, alone: Tensor, graph: Graph, sure: float, least: float) -> Tensor:
    """Classes (n,) with both dials."""
    chance = alone.softmax(1)
    best = chance.amax(1, keepdim=True)
    heard = model.smooth(alone, graph, None).masked_fill(chance < least * best, -torch.inf)
    return torch.where(best < sure, heard, alone).argmax(1)


def measure(task: NodeTask, dropout: float) -> list[dict[str, float]]:
    assert task.split is not None
    began, model, test = time.process_time(), trained(task, dropout), task.split.test
    graphs, alone = attacked(task, model), model.logits(task.features).detach()
    rows = []
    for share in SHARES:
        sure = threshold(model, task, share)
        for least in PLAUSIBLE if share else (0.0,):
            row = {"dropout": dropout, "share": share, "sure": round(sure, 4), "plausible": least}
            worst = 1.0
            for rate, some in graphs.items():
                for graph in some:
                    right = predicted(model, alone, graph, sure, least)[test] == task.labels[test]
                    worst = min(worst, float(right.double().mean()))
                row["clean" if rate == 0 else f"worst {rate:g}"] = round(worst, 4)
            rows.append(row)
    rows[-1]["seconds"] = round(time.process_time() - began, 1)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--dropouts", default="0.5,0.8")
    given = parser.parse_args()
    task = load(DATA)
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    for dropout in map(float, given.dropouts.split(",")):
        if dropout not in [row["dropout"] for row in rows]:
            rows += measure(task, dropout)
            given.output.write_text(json.dumps(rows, indent=1) + "\n")
            print(*rows, sep="\n", flush=True)


if __name__ == "__main__":
    main()
