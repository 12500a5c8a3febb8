"""The attacked graphs of the package as a test for any model: who does them no harm by transfer?"""

import torch

from elasticgnn.attack import AttackBudget, Perturbation, shipped, shipped_names
from elasticgnn.data import NodeTask, Split


def shipped_for(task: NodeTask, split: Split, rate: float) -> dict[str, Perturbation]:
    """Evasion attacks of the package on this graph and split with the flips of `rate`, by name.

    Where there are none for it, ValueError says what there is: nothing is left out unnoticed.
    """
    every = {name: shipped(name) for name in shipped_names()}
    mine = {
        name: found
        for name, found in every.items()
        if found.method != "metattack" and found.fingerprint == task.graph.fingerprint
    }
    if not mine:
        raise ValueError(f"shipped attacks must be used on the component of cora, got {task.name}")
    seeds = sorted({found.seed for found in mine.values()})
    mine = {name: found for name, found in mine.items() if same_test(found, split)}
    if not mine:
        raise ValueError(f"seeds must be among {seeds} for shipped attacks, got another split")
    flips = AttackBudget(rate=rate).flips(task.graph)
    exact = {name: found for name, found in mine.items() if len(found) == flips}
    if not exact:
        have = sorted({len(found) for found in mine.values()})
        raise ValueError(f"rates must stand for {have} flips of shipped attacks, got {flips}")
    return exact


def same_test(found: Perturbation, split: Split) -> bool:
    """Whether the attack was aimed at the test nodes of `split`."""
    return found.split is not None and torch.equal(found.split.test, split.test)
