"""Which options of `elasticgnn robustness` concern which attacks, models and protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from elasticgnn.attack.methods import BLOCK_METHODS, GRADIENT_METHODS, PREDICTION_METHODS
from elasticgnn.cli.attack_options import refuse_idle
from elasticgnn.cli.given import flag, is_given
from elasticgnn.robustness.local import MOST_GENERATIONS

if TYPE_CHECKING:
    from elasticgnn.robustness import RobustnessPlan

CONCERNED = {
    "attack_epochs": GRADIENT_METHODS,
    "restarts": GRADIENT_METHODS,
    "block": BLOCK_METHODS,
    **dict.fromkeys(("generations", "screened", "screen_every", "together"), PREDICTION_METHODS),
    "flips_per_step": ("metattack",),
}
NAMED = {"lambda1": 2, "lambda2": 3}  # parts of elastic:norm:lambda1:lambda2 that name it


def check_options(context: typer.Context, plan: RobustnessPlan, foreign: Sequence[str]) -> None:
    """Refuses options that were given where nothing of the plan has a use for them."""
    refuse_idle(context, CONCERNED, plan.attacks)
    if plan.protocol == "local":
        check_local(context, plan)
    names = [each.name for each in plan.models]
    for option, parts in NAMED.items():
        if is_given(context, option) and not any(leaves_open(name, parts) for name in names):
            raise ValueError(
                f"{flag(option)} must go with an elastic model that does not name it, got {names}"
            )
    if is_given(context, "dropout") and len(foreign) == len(names):
        raise ValueError(f"--dropout must go with a model of ours, got {names}")


def check_local(context: typer.Context, plan: RobustnessPlan) -> None:
    """Refuses what a search at a single node makes no use of."""
    if is_given(context, "block"):
        raise ValueError("--block must be left out with --protocol local: all pairs of a target")
    asked = plan.evolution.generations
    if is_given(context, "generations") and asked > MOST_GENERATIONS:
        raise ValueError(
            f"generations must be <= {MOST_GENERATIONS} with --protocol local, got {asked}"
        )


def leaves_open(name: str, parts: int) -> bool:
    """Whether a model is an elastic one with at most so many parts named."""
    named = name.partition("+")[0].split(":")
    return named[0] == "elastic" and len(named) <= parts
