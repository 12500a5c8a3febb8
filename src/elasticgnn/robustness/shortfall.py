"""Attacks that flipped less than their budget: what is called 10 % must not be less unnoticed."""

from collections.abc import Sequence

from elasticgnn.attack import AttackBudget
from elasticgnn.attack.methods import BLOCK_METHODS
from elasticgnn.data import NodeTask
from elasticgnn.robustness.contest import UNAFFECTED
from elasticgnn.robustness.plan import RobustnessPlan
from elasticgnn.robustness.store import OTHER_KINDS, Row


def shortfalls(rows: Sequence[Row], task: NodeTask, plan: RobustnessPlan) -> list[str]:
    """A note on every attack and rate with fewer flips than its budget, and why that may be.

    A target that is attacked alone may always be hit by one flip at least; rows of models without
    edges or without a gradient are of no attack.
    """
    made: dict[tuple[str, float], list[int]] = {}
    for row in rows:
        if row.rate > 0 and row.accuracy and row.route != UNAFFECTED:
            made.setdefault((row.attack, row.rate), []).append(row.flips)
    notes = list[str]()
    for (attack, rate), flips in made.items():
        if max(flips) == 0:
            notes.append(f"{attack} at {100 * rate:g} % is no flip at all: nothing was changed")
        elif attack not in OTHER_KINDS and plan.protocol != "local":
            allowed = AttackBudget(rate=rate).flips(task.graph)
            if min(flips) < allowed:
                notes.append(note(attack, rate, min(flips), allowed, plan))
    return notes


def note(attack: str, rate: float, flips: int, allowed: int, plan: RobustnessPlan) -> str:
    """What an attack made of its budget."""
    text = f"{attack} at {100 * rate:g} % made {flips} of {allowed} flips where it made the fewest"
    if attack in BLOCK_METHODS and plan.gradient.block_size < allowed:
        return f"{text}: a block has {plan.gradient.block_size} pairs (--block)"
    return text
