"""RUNG by its published protocol on the Cora component (docs/defence_details.md).

    python studies/rung.py results/attacks/rung.json [--splits 5] [--attacked 1] [--targets 30]

Stratified 10/10/80 splits of scikit-learn with the published random states; Adam, learning rate
0.05, weight decay 5e-4, 300 epochs, the last one kept; raw 0/1 features. Then, on the first
`--attacked` splits, each of `--targets` test nodes alone (six degree classes) under PRBCD at its
own edges, through RUNG and its l1 form, same weights; a target that fell to a smaller budget has
fallen.
"epoch 8" is the accuracy after eight epochs: longer training costs it.
"""

import argparse
import json
import time
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


def train(
    task: NodeTask,
    split: Split,
    root: bool,
    seed: int,
    *,
    norm: str = "mcp",
    gamma: float = 6.0,
    epochs: int = 300,
) -> tuple[RUNG, float]:
    """RUNG after `epochs`, and its test accuracy after 8."""
    sizes = (task.num_features, 64, task.num_classes)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = RUNG(*sizes, norm=norm, gamma=gamma, double_root=root, detached=True)
    adam = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    early = 0.0
    for epoch in range(epochs):
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
    split, began = published_split(task, state), time.process_time()
    model, early = train(task, split, root, 0)
    row: dict[str, object] = {"state": state, "double_root": root, "targets": targets}
    alone = model.backbone(task.features)[split.test].argmax(1)
    row |= {"clean": round(Victim(model, task, split.test).accuracy(task.graph), 4)}
    row |= {"epoch 8": round(early, 4)}
    right = (alone == task.labels[split.test]).double().mean()
    row |= {"no edges": round(float(right), 4)}
    if targets:
        row |= attacked(task, split, model, targets, state)
    return row | {"seconds": round(time.process_time() - began, 1)}


def attacked(
    task: NodeTask, split: Split, model: RUNG, targets: int, state: int
) -> dict[str, float]:
    """Share of targets right at each budget, each target under every route until it falls."""
    nodes = pick_targets(task, split.test, targets, torch.Generator().manual_seed(state))
    model.detached = False
    right = [n for n in nodes if Victim(model, task, n[None]).accuracy(task.graph) == 1]
    found = {"clean, targets": round(len(right) / len(nodes), 4)}
    for rate in RATES:
        for way in gradient_routes(model).values():
            right = [
                n
                for n in right
                if attack_targets(task, n[None], rate, "prbcd", way, model, ATTACK, 0)[0] != 0
            ]
        found[f"{100 * rate:g} %"] = round(len(right) / len(nodes), 4)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--attacked", type=int, default=1)
    parser.add_argument("--targets", type=int, default=30)
    given = parser.parse_args()
    task = load(DATA)
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    done = [(row["state"], row["double_root"], row["targets"]) for row in rows]
    for number, state in enumerate(STATES[: given.splits]):
        targets = given.targets if number < given.attacked else 0
        for root in (False, True):
            if (state, root, targets) not in done:
                rows.append(measure(task, state, root, targets))
                print(rows[-1], flush=True)
                given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
