"""Which options of `elasticgnn attack` concern which method."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from elasticgnn.attack.methods import GRADIENT_METHODS, METHODS, PREDICTION_METHODS, VICTIM_METHODS
from elasticgnn.cli.given import flag, is_given

if TYPE_CHECKING:
    from elasticgnn.attack.run import Settings

CONCERNED = {
    "victim": VICTIM_METHODS,
    "objective": ("metattack",),
    "approximate": ("metattack",),
    "flips_per_step": ("metattack",),
    "loss": ("metattack", *GRADIENT_METHODS),
    "block": tuple(method for method in GRADIENT_METHODS if method != "pgd"),  # which takes all
    "attack_epochs": GRADIENT_METHODS,
    "restarts": GRADIENT_METHODS,
    "generations": PREDICTION_METHODS,
}


def check_concerned(context: typer.Context, method: str) -> None:
    """Refuses unknown methods, and options that were given to a method without use for them."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    for option, methods in CONCERNED.items():
        if method not in methods and is_given(context, option):
            name = flag(option)
            raise ValueError(f"{name} must be given to {methods} only, got it for {method!r}")


def with_effort(
    options: Settings | None, epochs: int, restarts: int, generations: int
) -> Settings | None:
    """The options with how long to search."""
    from elasticgnn.attack import EvolutionSettings, GradientSettings

    if isinstance(options, EvolutionSettings):
        return replace(options, generations=generations)
    if isinstance(options, GradientSettings):
        fresh = min(options.fresh_epochs, 4 * epochs // 5)
        return replace(options, epochs=epochs, fresh_epochs=fresh, restarts=restarts)
    return options
