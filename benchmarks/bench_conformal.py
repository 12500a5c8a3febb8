"""Conformal sets with and without the scores of neighbours: how large, and how often right.

    python benchmarks/bench_conformal.py --output benchmarks/results/conformal.json

Each task keeps half of its nodes away; of the others at most 2000 are known, and a fifth of them
sets the threshold for sets that hold the class of 90 %. Scores: `plain` is 1 - p of a class (what
`predict --coverage` uses), `adaptive` the probability of all classes that are at least as likely
(Romano et al. 2020). `diffused` scores are half a node's own and half the mean of its neighbours'
(DAPS, Zargarbashi et al. 2023).
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from own_data_tasks import MAKERS

from elasticgnn.data import NodeTask, Split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model
from elasticgnn.training.loop.forward import forward_on
from elasticgnn.training.model.preparation import fit_preparation

MODELS = {"features": "gcn", "edges": "mlp", "neighbours": "sage", "heterophilous": "sage"}
SHARE = 0.5  # of the neighbours' scores in diffused ones
COVERAGE = 0.9
KINDS = ("features", "heterophilous", "classes", "cora")


def adaptive(probability: np.ndarray) -> np.ndarray:
    """The sum of the probabilities that are at least as large, for each class (n, classes)."""
    order = np.argsort(-probability, axis=1)
    total = np.take_along_axis(probability, order, 1).cumsum(1)
    scores = np.empty_like(total)
    np.put_along_axis(scores, order, total, 1)
    return scores


def diffused(scores: np.ndarray, task: NodeTask) -> np.ndarray:
    """Half of each node's scores and half the mean of its neighbours', where it has any."""
    matrix = task.graph.to_scipy()
    matrix.data[:] = 1
    degree = np.asarray(matrix.sum(1)).ravel()
    mean = (matrix @ scores) / np.maximum(degree, 1)[:, None]
    return np.where((degree > 0)[:, None], (1 - SHARE) * scores + SHARE * mean, scores)


def predicted(task: NodeTask, model: str, split: Split, seed: int) -> np.ndarray:
    """Probabilities of all nodes by a model trained on the split."""
    ready = fit_preparation(task.features).apply(task)
    generator = torch.Generator().manual_seed(seed)
    network = make_model(ModelSettings(model), ready, generator)
    fit(network, ready, split, TrainingPlan(epochs=200, patience=50), generator)
    with torch.no_grad():
        logits = forward_on(network, ready.features, ready.graph)(None)
    return logits.double().softmax(1).numpy()


def measure(kind: str, seed: int) -> list[dict]:
    """One row for each kind of scores."""
    rng = np.random.default_rng(seed)
    task = MAKERS[kind](rng)
    order = torch.from_numpy(rng.permutation(task.labelled.numpy()))
    known, away = order[: min(len(order) // 2, 2000)], order[len(order) // 2 :].numpy()
    parts = known.split([len(known) - 2 * (len(known) // 5), *[len(known) // 5] * 2])
    model = MODELS.get(kind, "appnp")
    probability = predicted(task, model, Split(parts[0], parts[1], parts[1][:0]), seed)
    labels, holdout = task.labels.numpy(), parts[2].numpy()
    plain, wide = 1 - probability, adaptive(probability)
    scores = {
        "plain": plain,
        "plain, diffused": diffused(plain, task),
        "adaptive": wide,
        "adaptive, diffused": diffused(wide, task),
    }
    rows = []
    for name, values in scores.items():
        own = np.sort(values[holdout, labels[holdout]])
        rank = int(np.ceil((len(own) + 1) * COVERAGE))
        inside = values[away] <= own[rank - 1]
        sizes = inside.sum(1)
        held = float(inside[np.arange(len(away)), labels[away]].mean())
        row = {"kind": kind, "model": model, "seed": seed, "scores": name, "coverage": held}
        rows.append(row | {"size": float(sizes.mean()), "empty": float((sizes == 0).mean())})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "kinds", nargs="*", default=["features", "heterophilous", "classes", "cora"]
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for kind in options.kinds:
        for seed in range(options.seeds):
            rows += measure(kind, seed)
        for name in dict.fromkeys(row["scores"] for row in rows):
            part = [row for row in rows if row["kind"] == kind and row["scores"] == name]
            size, held, empty = (
                np.mean([row[key] for row in part]) for key in ("size", "coverage", "empty")
            )
            print(
                f"{kind:14} {name:20} {size:6.2f} classes, {100 * held:5.1f} % held, "
                f"{100 * empty:4.1f} % empty",
                flush=True,
            )
    if options.output is not None:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
