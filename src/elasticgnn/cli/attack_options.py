"""Which options of `elasticgnn attack` concern which method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from elasticgnn.attack.methods import (
    BLOCK_METHODS,
    GRADIENT_METHODS,
    METHODS,
    PREDICTION_METHODS,
    VICTIM_METHODS,
)
from elasticgnn.cli.given import flag, is_given

if TYPE_CHECKING:
    from elasticgnn.attack.run import Settings

CONCERNED = {
    "victim": VICTIM_METHODS,
    "objective": ("metattack",),
    "approximate": ("metattack",),
    "flips_per_step": ("metattack",),
    "loss": ("metattack", *GRADIENT_METHODS),
    "block": BLOCK_METHODS,
    "attack_epochs": GRADIENT_METHODS,
    "restarts": GRADIENT_METHODS,
    "generations": PREDICTION_METHODS,
}


def check_concerned(context: typer.Context, method: str) -> None:
    """Refuses unknown methods, and options that were given to a method without use for them."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    refuse_idle(context, CONCERNED, (method,))


def refuse_idle(
    context: typer.Context, concerned: Mapping[str, Sequence[str]], asked: Sequence[str]
) -> None:
    """Refuses options that were given, but concern none of the attacks that are asked for."""
    for option, methods in concerned.items():
        if not set(methods) & set(asked) and is_given(context, option):
            names = ", ".join(map(repr, asked))
            raise ValueError(f"{flag(option)} must be given to {methods} only, got it for {names}")


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
