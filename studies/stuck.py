"""Why ElasticGNN (3, 3) never leaves one class on Cora with many wrong edges.

    python studies/stuck.py results/attacks/stuck.json

First the start of training: how much of the logits' gradient gets through the propagation, and how
many edges are saturated. Then trainings (two splits) that change one thing at a time.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import torch

from elasticgnn.data import add_wrong_edges, load, paper_split
from elasticgnn.nn import ModelSettings
from elasticgnn.operator import elastic_message_passing, elastic_state
from elasticgnn.problem import ElasticPenalty
from elasticgnn.training import Run, TrainingPlan, fit_population, make_model

SPLITS = 2
CHANGES: dict[str, dict[str, float]] = {
    "as it is": {},
    "weight decay 0": {"weight_decay": 0.0},
    "weight decay 5e-5": {"weight_decay": 5e-5},
    "learning rate 0.05": {"learning_rate": 0.05},
    "lambda1 = 1": {"lambda1": 1.0},
    "lambda2 = 0": {"lambda2": 0.0},
    "features x 20": {"scale": 20.0},
    "K = 5": {"steps": 5},
    "no dropout": {"dropout": 0.0},
}


def at_the_start(task, split, penalty: ElasticPenalty) -> dict[str, object]:
    """Gradient and saturation for freshly drawn weights."""
    generator = torch.Generator().manual_seed(0)
    model = make_model(ModelSettings("elastic"), task, generator).eval()
    x = model.logits(task.features).double().detach().requires_grad_()
    output = elastic_message_passing(x, task.graph, penalty, 10)
    loss = torch.nn.functional.cross_entropy(output[split.train], task.labels[split.train])
    (gradient,) = torch.autograd.grad(loss, x)
    dual = elastic_state(x, task.graph, penalty, 10).dual.norm(dim=1)
    return {
        "lambda1": float(penalty.lambda1),
        "lambda2": float(penalty.lambda2),
        "gradient_norm": round(float(gradient.norm()), 5),
        "largest_dual": round(float(dual.max()), 3),
        "saturated": round(float((dual >= 0.999 * float(penalty.lambda1)).double().mean()), 3),
        "bridged_before": round(float(task.graph.difference(x.detach()).norm(dim=1).mean()), 5),
        "bridged_after": round(float(task.graph.difference(output.detach()).norm(dim=1).mean()), 5),
    }


def train(task, splits, change: dict[str, float]) -> dict[str, object]:
    """Accuracies after 200 epochs with one thing changed."""
    options = dict(change)
    steps, scale = int(options.pop("steps", 10)), options.pop("scale", 1.0)
    scaled = replace(task, features=task.features.with_value(task.features.value * scale))
    runs = [Run(split, seed, **options) for seed, split in enumerate(splits)]
    histories = fit_population(
        scaled, runs, ModelSettings(steps=steps), TrainingPlan(epochs=200, ties="first")
    )
    return {
        "first_loss": round(fmean(h.loss[0] for h in histories), 3),
        "last_loss": round(fmean(h.loss[-1] for h in histories), 3),
        "validation": round(100 * fmean(h.val_accuracy for h in histories), 1),
        "test": round(100 * fmean(h.test_accuracy for h in histories), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    output = parser.parse_args().output
    clean, generator = load("cora"), torch.Generator().manual_seed(0)
    splits = [paper_split(clean, generator) for _ in range(SPLITS)]
    rows: list[dict[str, object]] = []
    for share in (0.0, 0.2, 0.4):
        task = add_wrong_edges(clean, share, torch.Generator().manual_seed(1))
        for penalty in (ElasticPenalty(3.0, 3.0), ElasticPenalty(3.0, 0.0)):
            rows.append({"share": share, "start": True} | at_the_start(task, splits[0], penalty))
            print(rows[-1], flush=True)
    for name, change in CHANGES.items():
        rows.append({"share": 0.4, "change": name} | train(task, splits, change))
        print(rows[-1], flush=True)
    output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
