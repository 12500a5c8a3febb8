"""Why RUNG's local rows differ from the published ones: one thing changed at a time.

    python studies/rung_causes.py results/attacks/rung_causes.json [--targets 30]

First published split. For each reading of the code (rung.py) and each network that the gradient
goes through, the fewest flips among those tried that change each target that was right. The table
(`attack_tables.py rung_causes`) counts from them who stands under which attack and which rounding
of the budget.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from rung import ATTACK, DATA, RATES, STATES, published_split, train
from torch import nn

from elasticgnn.attack import AttackBudget, attack
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, Split, load
from elasticgnn.defence import RUNG
from elasticgnn.robustness.local import at_targets, pick_targets
from elasticgnn.robustness.routes import gradient_routes

ROOTS = (False, True)  # z taken as the root, and as the root of it


def ways(model: RUNG) -> dict[str, nn.Module]:
    """Networks to take the gradient of: as published, through the weights too, the l1 form."""
    model.detached = False
    found = gradient_routes(model)
    return {"detached": model, "undetached": model, "l1": found["convex"]}


def budgets(degree: int) -> list[int]:
    """Flips that some rate allows, rounded down or to the nearest and at least 1."""
    both = [(int(rate * degree), max(1, round(rate * degree))) for rate in RATES]
    return sorted({flips for pair in both for flips in pair if flips})


def fewest_flips(
    task: NodeTask, node: int, budgets: list[int], way: nn.Module, model: nn.Module
) -> int | None:
    """The smallest of the budgets at which the target falls, None if it stands at all."""
    target, none = torch.tensor([node]), torch.zeros(0, dtype=torch.int64)
    settings = at_targets(ATTACK, task.num_nodes)
    for flips in budgets:
        found = attack(
            task,
            Split(none, none, target),
            AttackBudget(edges=flips),
            "prbcd",
            way,
            torch.Generator().manual_seed(0),
            settings=settings,
        )
        if Victim(model, task, target).accuracy(found.apply(task.graph)) == 0:
            return flips
    return None


def measure(task: NodeTask, root: bool, way: str, targets: int) -> dict[str, Any]:
    """One reading and one way: what changes each target."""
    split, began = published_split(task, STATES[0]), time.process_time()
    model, _ = train(task, split, root, 0)
    nodes = pick_targets(task, split.test, targets, torch.Generator().manual_seed(STATES[0]))
    through = ways(model)[way]
    model.detached = way == "detached"
    ends = torch.cat((task.graph.tail, task.graph.head))
    degrees = torch.bincount(ends, minlength=task.num_nodes)
    rows = []
    for node in nodes.tolist():
        right = Victim(model, task, torch.tensor([node])).accuracy(task.graph) == 1
        degree = int(degrees[node])
        fewest = fewest_flips(task, node, budgets(degree), through, model) if right else 0
        alone = bool(model.backbone(task.features)[node].argmax() == task.labels[node])
        rows.append({"node": node, "degree": degree, "fewest": fewest, "backbone": alone})
    about = {"double_root": root, "way": way, "targets": targets}
    return about | {"seconds": round(time.process_time() - began, 1), "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--targets", type=int, default=30)
    given = parser.parse_args()
    task = load(DATA)
    found = json.loads(given.output.read_text()) if given.output.exists() else []
    known = ("double_root", "way", "targets")
    done = [tuple(one[name] for name in known) for one in found]
    for root in ROOTS:
        for way in ("detached", "undetached", "l1"):
            if (root, way, given.targets) in done:
                continue
            found.append(measure(task, root, way, given.targets))
            print({name: found[-1][name] for name in (*known, "seconds")}, flush=True)
            given.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
