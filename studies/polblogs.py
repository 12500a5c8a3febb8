"""Why ElasticGNN (3, 3) gives 52.0 on Polblogs attacked at 20 %: one thing changed at a time.

    python studies/polblogs.py results/polblogs.json

Three seeds, 300 epochs each, the settings of table2-16. "first" and "last" multiply the initial
weights of the first and of the last layer: with features that are indicators, both scale the
logits that propagation starts from. "undo" takes back the attacker's flips that touch at least so
many training nodes. Needs the data sets (ELASTICGNN_DATA); prints the tables of docs/reproduce.md.
"""

import argparse
import json
from pathlib import Path

import torch

from elasticgnn.data import NodeTask, load
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model, predict

SEEDS, EPOCHS = 3, 300
CHANGES: dict[str, dict[str, float]] = {
    "nothing": {},
    "last layer x 10 at the start": {"last": 10.0},
    "first layer x 10 at the start": {"first": 10.0},
    "learning rate 0.001": {"learning_rate": 0.001},
    "learning rate 0.05": {"learning_rate": 0.05},
    "weight decay 0": {"weight_decay": 0.0},
    "dropout 0.2": {"dropout": 0.2},
    "dropout 0": {"dropout": 0.0},
    "lambda1 = 1": {"lambda1": 1.0},
    "lambda2 = 6": {"lambda2": 6.0},
    "lambda2 = 9": {"lambda2": 9.0},
    "K = 5": {"steps": 5},
    "K = 50": {"steps": 50},
    "K = 50, last layer x 100": {"steps": 50, "last": 100.0},
    "K = 50, all flips undone": {"steps": 50, "undo": 0},
    "flips between training nodes undone": {"undo": 2},
    "flips at training nodes undone": {"undo": 1},
    "all flips undone": {"undo": 0},
}


def pairs(task: NodeTask) -> set[tuple[int, int]]:
    return set(zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True))


def flips(attacked: NodeTask, clean: NodeTask, at_least: int) -> list[tuple[int, int]]:
    """The attacker's flips that touch `at_least` training nodes."""
    train = set(attacked.split.train.tolist())
    changed = sorted(pairs(attacked) ^ pairs(clean))
    return [pair for pair in changed if sum(node in train for node in pair) >= at_least]


def undone(attacked: NodeTask, clean: NodeTask, at_least: int) -> NodeTask:
    """The attacked task without these flips."""
    back = torch.tensor(flips(attacked, clean, at_least))
    return attacked.with_graph(attacked.graph.with_edges_flipped(back))


def train(task: NodeTask, change: dict[str, float], seed: int) -> dict[str, float]:
    """Accuracies in percent, the last training loss, and the share of the most frequent answer."""
    generator = torch.Generator().manual_seed(seed)
    settings = ModelSettings(
        hidden_channels=16,
        dropout=change.get("dropout", 0.5),
        steps=int(change.get("steps", 10)),
        lambda1=change.get("lambda1", 3.0),
        lambda2=change.get("lambda2", 3.0),
    )
    model = make_model(settings, task, generator)
    first, last = model.backbone.first, model.backbone.others[0]
    with torch.no_grad():
        first.weight.mul_(change.get("first", 1.0))
        last.weight.mul_(change.get("last", 1.0))
    rate, decay = change.get("learning_rate", 0.01), change.get("weight_decay", 5e-4)
    history = fit(
        model, task, task.split, TrainingPlan(rate, decay, EPOCHS, ties="first"), generator
    )
    answers = torch.bincount(predict(model, task.features, task.graph).label)
    return {
        "selected": round(100 * history.test_accuracy, 1),
        "best": round(100 * max(history.test_curve), 1),
        "end": round(100 * history.test_curve[-1], 1),
        "lowest": round(100 * min(history.test_curve), 1),
        "loss": round(history.loss[-1], 2),
        "one_class": round(float(answers.max() / answers.sum()), 2),
    }


def wrong_shares(rate: str) -> list[float]:
    """Percent of wrong edges among those with no, one and two training nodes at their ends."""
    task = load(f"polblogs-meta-{rate}")
    train = torch.zeros(task.num_nodes, dtype=torch.int64)
    train[task.split.train] = 1
    tail, head = task.graph.tail, task.graph.head
    wrong, ends = (task.labels[tail] != task.labels[head]).double(), train[tail] + train[head]
    return [round(100 * float(wrong[ends == count].mean()), 1) for count in range(3)]


def line(name: str, runs: list[dict[str, float]]) -> str:
    selected, end = (", ".join(f"{run[key]:.1f}" for run in runs) for key in ("selected", "end"))
    loss, best = ", ".join(f"{run['loss']:.2f}" for run in runs), max(run["best"] for run in runs)
    return f"| {name} | {selected} | {best:.1f} | {end} | {loss} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    output = parser.parse_args().output
    attacked, clean = load("polblogs-meta-0.2"), load("polblogs-meta-0")
    counts = [len(flips(attacked, clean, at_least)) for at_least in (0, 1, 2)]
    print("flips: {} in all, {} at a training node, {} between two".format(*counts))
    print("| attacked | wrong edges, no end a training node | one end | both ends |")
    print("| --- | --- | --- | --- |")
    shares = {rate: wrong_shares(rate) for rate in ("0", "0.05", "0.1", "0.2")}
    for rate, values in shares.items():
        print(f"| {100 * float(rate):g} % | " + " | ".join(f"{v} %" for v in values) + " |")
    print("| changed | test, selected epoch | best of any epoch | test, last epoch | last loss |")
    print("| --- | --- | --- | --- | --- |")
    results = {}
    for name, change in CHANGES.items():
        task = undone(attacked, clean, int(change["undo"])) if "undo" in change else attacked
        results[name] = [train(task, change, seed) for seed in range(SEEDS)]
        print(line(name, results[name]), flush=True)
    output.write_text(
        json.dumps({"flips": counts, "wrong_edges": shares, "changes": results}) + "\n"
    )


if __name__ == "__main__":
    main()
