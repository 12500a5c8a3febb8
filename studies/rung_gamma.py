"""RUNG's local rows when gamma is chosen anew for every budget (docs/defence_details.md).

    python studies/rung_gamma.py results/attacks/rung_gamma.json [--targets 30]
    python studies/rung_gamma.py results/attacks/rung_gamma.json --splits 5 --models chosen

All networks on the first published split, with the targets and the attack of `rung_causes.py`
(gradient detached, as published): RUNG in both readings with several gamma, after 300 epochs and
after 8; beside them a GCN and RUNG's l1 form, whose published rows say whether targets and attack
are as hard as the published ones. Of each target that was right: the fewest flips that change it,
among those that 20 to 200 % of its degree allow, rounded to the nearest and at least 1; one that
stands at the largest of them is taken to stand at all. `--models chosen`: the networks that leave
most at some budget on the first split, to be judged by the other splits.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from statistics import fmean
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
    "rung, gamma 2, 8 epochs": ("mcp", 2.0, False, 8),
    "rung, gamma 3, 8 epochs": ("mcp", 3.0, False, 8),
    "rung, gamma 6, 8 epochs": ("mcp", 6.0, False, 8),
    "rung, two roots, gamma 2, 8 epochs": ("mcp", 2.0, True, 8),
    "rung, two roots, gamma 3, 8 epochs": ("mcp", 3.0, True, 8),
    "rung, two roots, gamma 6, 8 epochs": ("mcp", 6.0, True, 8),
    "rung, two roots, gamma 6": ("mcp", 6.0, True, 300),
    "rung-l1": ("l1", 6.0, False, 300),
}
NAMES = ("gcn", *RUNGS)
RUNG = "rung, "  # how the names of the networks begin that are RUNG itself, not its l1 form


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


def measure(task: NodeTask, name: str, targets: int, state: int) -> dict[str, Any]:
    """One network on one split: its accuracy, and what changes each target."""
    split, began = published_split(task, state), time.process_time()
    model = network(task, split, name)
    nodes = pick_targets(task, split.test, targets, torch.Generator().manual_seed(state))
    ends = torch.cat((task.graph.tail, task.graph.head))
    degrees = torch.bincount(ends, minlength=task.num_nodes)
    rows = []
    for node in nodes.tolist():
        right = Victim(model, task, torch.tensor([node])).accuracy(task.graph) == 1
        allowed = budgets(int(degrees[node]))
        holds = right and fewest_flips(task, node, allowed[-1:], model, model) is None
        fewest = fewest_flips(task, node, allowed, model, model) if right and not holds else 0
        fewest = None if holds else fewest
        rows.append({"node": node, "degree": int(degrees[node]), "fewest": fewest})
    clean = Victim(model, task, split.test).accuracy(task.graph)
    about = {"model": name, "targets": targets, "state": state, "clean": round(clean, 4)}
    return about | {"seconds": round(time.process_time() - began, 1), "rows": rows}


def is_right(row: dict[str, Any], flips: int) -> bool:
    """Whether a target is right after so many flips."""
    return row["fewest"] is None or row["fewest"] > flips


def shares_right(one: dict[str, Any]) -> list[float]:
    """The share of a network's targets that are right: clean, then at each rate."""
    rows = one["rows"]
    left = [fmean(is_right(row, 0) for row in rows)]
    for rate in RATES:
        left.append(fmean(is_right(row, max(1, round(rate * row["degree"]))) for row in rows))
    return left


def chosen(found: list[dict[str, Any]]) -> list[str]:
    """The RUNG that leaves most on the first split: clean, then at each rate; the first of equals.

    Of networks with equal shares the one with the higher clean accuracy on all test nodes.
    """
    first = [one for one in found if one["state"] == STATES[0] and one["model"].startswith(RUNG)]
    first.sort(key=lambda one: -one["clean"])
    columns = range(1 + len(RATES))
    return [max(first, key=lambda one: shares_right(one)[column])["model"] for column in columns]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--targets", type=int, default=30)
    parser.add_argument("--models", default=";".join(NAMES), help="separated by ;")
    parser.add_argument("--splits", type=int, default=1)
    given = parser.parse_args()
    task = load(DATA)
    found = json.loads(given.output.read_text()) if given.output.exists() else []
    done = [(one["model"], one["targets"], one["state"]) for one in found]
    names = dict.fromkeys(chosen(found) if given.models == "chosen" else given.models.split(";"))
    for state, name in itertools.product(STATES[: given.splits], names):
        if (name, given.targets, state) not in done:
            found.append(measure(task, name, given.targets, state))
            print({k: v for k, v in found[-1].items() if k != "rows"}, flush=True)
            given.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
