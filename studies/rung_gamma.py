"""RUNG's local rows when gamma is chosen anew for every budget (docs/attacks.md).

    python studies/rung_gamma.py results/attacks/rung_gamma.json [--targets 30]

First published split, the targets and the attack of `rung_causes.py` (gradient detached, as
published). Networks: RUNG with one root and several gamma, after 300 epochs and after 8, and with
two roots and gamma 6; beside them a GCN and RUNG's l1 form, whose published rows say whether
targets and attack are as hard as the published ones. Of each target that was right: the fewest
flips that turn it, among those that 20 to 200 % of its degree allow, rounded to the nearest and at
least 1; one that stands at the largest of them is taken to stand at all.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from rung import DATA, RATES, STATES, published_split, train
from rung_causes import fewest_flips
from torch import nn

from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, Split, load
from elasticgnn.robustness.local import pick_targets
from elasticgnn.training import TrainingPlan, fit, make_model

RUNGS = {  # norm, gamma, whether the root is taken twice, epochs
    "rung, gamma 1": ("mcp", 1.0, False, 300),
    "rung, gamma 3": ("mcp", 3.0, False, 300),
    "rung, gamma 1, 8 epochs": ("mcp", 1.0, False, 8),
    "rung, gamma 3, 8 epochs": ("mcp", 3.0, False, 8),
    "rung, two roots, gamma 6": ("mcp", 6.0, True, 300),
    "rung-l1": ("l1", 6.0, False, 300),
}
NAMES = ("gcn", *RUNGS)


def network(task: NodeTask, split: Split, name: str) -> nn.Module:
    """The trained model."""
    if name in RUNGS:
        norm, gamma, double_root, epochs = RUNGS[name]
        return train(task, split, double_root, 0, norm=norm, gamma=gamma, epochs=epochs)[0]
    generator = torch.Generator().manual_seed(0)
    model = make_model(name, task, generator)
    fit(model, task, split, TrainingPlan(epochs=200), generator)
    return model.eval()


def budgets(degree: int) -> list[int]:
    """Flips that the rates allow, rounded to the nearest and at least 1."""
    return sorted({max(1, round(rate * degree)) for rate in RATES})


def measure(task: NodeTask, name: str, targets: int) -> dict[str, Any]:
    """One network: its accuracy, and what turns each target."""
    split, began = published_split(task, STATES[0]), time.process_time()
    model = network(task, split, name)
    nodes = pick_targets(task, split.test, targets, torch.Generator().manual_seed(STATES[0]))
    ends = torch.cat((task.graph.tail, task.graph.head))
    degrees = torch.bincount(ends, minlength=task.num_nodes)
    rows = []
    for node in nodes.tolist():
        right = Victim(model, task, torch.tensor([node])).accuracy(task.graph) == 1
        allowed = budgets(int(degrees[node]))
        stands = right and fewest_flips(task, node, allowed[-1:], model, model) is None
        fewest = fewest_flips(task, node, allowed, model, model) if right and not stands else 0
        fewest = None if stands else fewest
        rows.append({"node": node, "degree": int(degrees[node]), "fewest": fewest})
    clean = Victim(model, task, split.test).accuracy(task.graph)
    about = {"model": name, "targets": targets, "clean": round(clean, 4)}
    return about | {"seconds": round(time.process_time() - began, 1), "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--targets", type=int, default=30)
    parser.add_argument("--models", default=";".join(NAMES), help="separated by ;")
    given = parser.parse_args()
    task = load(DATA)
    found = json.loads(given.output.read_text()) if given.output.exists() else []
    done = [(one["model"], one["targets"]) for one in found]
    for name in given.models.split(";"):
        if (name, given.targets) not in done:
            found.append(measure(task, name, given.targets))
            print({k: v for k, v in found[-1].items() if k != "rows"}, flush=True)
            given.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
