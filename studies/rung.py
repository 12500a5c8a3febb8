"""RUNG by its published protocol on the Cora component (docs/attacks.md).

    python studies/rung.py results/attacks/rung.json [--splits 1] [--targets 30]

Stratified 10/10/80 splits of scikit-learn with the published random states; Adam, learning rate
0.05, weight decay 5e-4, 300 epochs, the last one kept; raw 0/1 features. Then each of `--targets`
test nodes alone (six degree classes) under PRBCD at its own edges, through RUNG and its l1 form,
same weights. "epoch 8" is the accuracy after eight epochs: longer training costs it.
"""

import argparse
import json
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from elasticgnn.attack import GradientSettings
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, Split, load
from elasticgnn.defence import RUNG
from elasticgnn.features import DropoutNoise
from elasticgnn.robustness.local import attack_targets, pick_targets
from elasticgnn.robustness.routes import gradient_routes

DATA = "cora-meta-0"
STATES = (1534, 2021, 1323, 1535, 1698)
RATES = (0.2, 0.5, 1.0, 1.5, 2.0)
ATTACK = GradientSettings(epochs=25, fresh_epochs=0, samples=6)


def published_split(task: NodeTask, state: int) -> Split:
    """10/10/80, stratified: scikit-learn's train_test_split, train size .2 then .5."""
    from sklearn.model_selection import train_test_split

    labels = task.labels.numpy()
    every = list(range(task.num_nodes))
    known, test = train_test_split(every, train_size=0.2, random_state=state, stratify=labels)
    train, val = train_test_split(known, train_size=0.5, random_state=state, stratify=labels[known])
    return Split(*(torch.tensor(sorted(part)) for part in (train, val, test)))


def train(task: NodeTask, split: Split, root: bool, seed: int) -> tuple[RUNG, float]:
    """RUNG after 300 epochs, and its test accuracy after 8."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = RUNG(task.num_features, 64, task.num_classes, detached=True, double_root=root)
    adam = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    early = 0.0
    for epoch in range(300):
        model.train()
        adam.zero_grad()
        logits = model(task.features, task.graph, noise=DropoutNoise(seed, epoch))
        loss = cross_entropy(logits[split.train], task.labels[split.train])
        torch.autograd.backward(loss)
        adam.step()
        if epoch == 7:
            early = Victim(model, task, split.test).accuracy(task.graph)
    return model.eval(), early


def measure(task: NodeTask, state: int, root: bool, targets: int) -> dict[str, object]:
    """One split: clean, and the share of targets still right at each local budget."""
    split = published_split(task, state)
    model, early = train(task, split, root, 0)
    test = Victim(model, task, split.test)
    row: dict[str, object] = {"state": state, "double_root": root, "targets": targets}
    row |= {"clean": round(test.accuracy(task.graph), 4), "epoch 8": round(early, 4)}
    nodes = pick_targets(task, split.test, targets, torch.Generator().manual_seed(state))
    row["clean, targets"] = round(Victim(model, task, nodes).accuracy(task.graph), 4)
    model.detached = False
    for rate in RATES:
        left = [
            attack_targets(task, nodes, rate, "prbcd", way, model, ATTACK, 0)[0]
            for way in gradient_routes(model).values()
        ]
        row[f"{100 * rate:g} %"] = round(min(value for value in left if value is not None), 4)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--targets", type=int, default=30)
    given = parser.parse_args()
    task = load(DATA)
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    done = [(row["state"], row["double_root"], row["targets"]) for row in rows]
    for state in STATES[: given.splits]:
        for root in (False, True):
            if (state, root, given.targets) not in done:
                rows.append(measure(task, state, root, given.targets))
                print(rows[-1], flush=True)
                given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
