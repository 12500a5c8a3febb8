"""A perceptron that has learned what ElasticGNN says (docs/robustness_details.md).

    python studies/distilled.py results/attacks/distilled.json [--seeds 3]

The student sees words alone, so that no flip at prediction can change what it says. It is fitted to
the teacher's chances for all nodes on the graph that training sees. Beside it the teacher, an
ElasticGNN (3, 3), and the teacher without edges. Protocols on the Cora component (words as 0/1):
"evasion": training sees the whole clean graph, test nodes included, so that a student may remember
each of them; "inductive": training sees no edge of a test node; "poisoning": training sees the
graph that the package's Metattack files make of it (the split that each was made for), and the
accuracy is that on this graph. No attack is searched for here: what is left of teachers under flips
at prediction is in the tables of the comparison.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from elasticgnn.attack import shipped
from elasticgnn.attack.evaluation import fixed_or_drawn
from elasticgnn.attack.perturbation import component_task
from elasticgnn.data import NodeTask, Split, load
from elasticgnn.features import DropoutNoise
from elasticgnn.nn import MLP, ElasticGNN, ModelSettings
from elasticgnn.robustness.contest import without_nodes
from elasticgnn.robustness.presence import as_presence
from elasticgnn.training import TrainingPlan, fit, make_model

DROPOUT, EPOCHS = 0.8, 300
POISONED = ("cora-metattack-0", "cora-metattack-1", "cora-metattack-2")


def trained(task: NodeTask, split: Split, seed: int) -> ElasticGNN:
    """The teacher."""
    generator = torch.Generator().manual_seed(seed)
    model = make_model(ModelSettings("elastic", dropout=DROPOUT), task, generator)
    fit(model, task, split, TrainingPlan(epochs=200), generator)
    assert isinstance(model, ElasticGNN)
    return model.eval()


def distilled(task: NodeTask, target: Tensor, dropout: float, seed: int) -> Tensor:
    """Logits (n, c) of a perceptron fitted to the probabilities `target` (n, c)."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        student = MLP(task.num_features, 64, task.num_classes, dropout=dropout)
    adam = torch.optim.Adam(student.parameters(), lr=0.01)
    for epoch in range(EPOCHS):
        student.train()
        adam.zero_grad()
        guess = student(task.features, noise=DropoutNoise(seed, epoch))
        torch.autograd.backward(cross_entropy(guess, target))
        adam.step()
    return student.eval()(task.features).detach()


def measure(
    protocol: str, seen: NodeTask, task: NodeTask, split: Split, rate: float, seed: int
) -> dict[str, Any]:
    """One row: trained on `seen`, measured on the test nodes of `task`."""
    model = trained(seen, split, seed)
    teacher = model(seen.features, seen.graph).detach().softmax(1)
    outputs = {
        "elastic": model(task.features, task.graph),
        "no edges": model.logits(task.features),
        "distilled": distilled(seen, teacher, 0.0, seed),
        "distilled, dropout 0.5": distilled(seen, teacher, 0.5, seed),
    }
    labels = task.labels[split.test]
    row: dict[str, Any] = {"protocol": protocol, "seed": seed, "rate": rate}
    for name, logits in outputs.items():
        right = logits.argmax(1)[split.test] == labels
        row[name] = round(float(right.float().mean()), 4)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    task = component_task(as_presence(load("cora")))
    rows = []
    for seed in range(given.seeds):
        split = fixed_or_drawn(task, torch.Generator().manual_seed(seed))
        unseen = task.with_graph(without_nodes(task.graph, split.test))
        rows.append(measure("evasion", task, task, split, 0.0, seed))
        rows.append(measure("inductive", unseen, task, split, 0.0, seed))
        flips = shipped(POISONED[seed % len(POISONED)])
        assert flips.split is not None
        for rate in (0.05, 0.25):
            changed = task.with_graph(flips.apply(task.graph, upto=rate))
            rows.append(measure("poisoning", changed, changed, flips.split, rate, seed))
        print(*rows[-4:], sep="\n", flush=True)
    given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
