"""Metattack: flip the pair with the largest meta-gradient, retrain, and again."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.budget import AttackBudget
from elasticgnn.attack.meta.approximate import approximate_gradient
from elasticgnn.attack.meta.candidates import best_flips
from elasticgnn.attack.meta.gradient import (
    PairGradient,
    Surrogate,
    add_gradients,
    meta_gradient,
    view_of,
)
from elasticgnn.attack.meta.settings import MetattackSettings
from elasticgnn.attack.meta.surrogate import build_surrogate, draw_weights
from elasticgnn.attack.perturbation import Perturbation, flat_settings
from elasticgnn.data import NodeTask, Split

Progress = Callable[[int, float], None]
Weights = tuple[Tensor, Tensor]
SPARE = 32  # extra candidates, since a flip can put later ones out of bounds


def metattack(
    task: NodeTask,
    split: Split,
    budget: AttackBudget,
    settings: MetattackSettings,
    generator: torch.Generator,
    progress: Progress = lambda flips, loss: None,
    *,
    after: Perturbation | None = None,
) -> Perturbation:
    """The flips that hurt a graph network trained afterwards on the attacked graph most.

    Goes on from the flips of `after`, which count in the budget, where given. Stops early when no
    allowed flip is left.

    >>> from elasticgnn.attack import AttackBudget, InnerTraining, MetattackSettings, metattack
    >>> settings = MetattackSettings(inner=InnerTraining(steps=5))
    >>> len(metattack(task, split, AttackBudget(edges=2), settings, generator))
    2
    """
    state = Flippable(task.graph, settings.constraints)
    adjacency = state.adjacency(settings.dtype)
    surrogate = build_surrogate(task, split, adjacency, settings, generator)
    wanted, loss = budget.flips(task.graph), list[float]()
    if after is not None:
        after.check(task.graph)
        loss += after.loss
        for tail, head in after.pairs.tolist():
            state.flip(tail, head)
    weights = draw_starts(surrogate, settings, generator)
    while len(state.flipped) < wanted:
        before = len(state.flipped)
        gradient = next_gradient(state, surrogate, settings, weights)
        take_best(state, gradient, min(settings.flips_per_step, wanted - before))
        loss += [gradient.loss] * (len(state.flipped) - before)
        if len(state.flipped) == before:
            break
        if settings.redraw:
            weights = draw_starts(surrogate, settings, generator)
        progress(len(state.flipped), gradient.loss)
    return Perturbation(
        pairs=state.pairs(),
        fingerprint=task.graph.fingerprint,
        method="metattack",
        seed=generator.initial_seed(),
        loss=tuple(loss),
        settings=flat_settings(settings),
        split=split,
        task=task.name,
    )


def draw_starts(
    surrogate: Surrogate, settings: MetattackSettings, generator: torch.Generator
) -> list[Weights]:
    """The initial weights of each of the surrogate's trainings before a flip."""
    return [draw_weights(surrogate, generator) for _ in range(settings.starts)]


def next_gradient(
    state: Flippable, surrogate: Surrogate, settings: MetattackSettings, weights: Sequence[Weights]
) -> PairGradient:
    """The meta-gradient on the graph as it is now, added up over the initial `weights`."""
    view = view_of(state.adjacency(settings.dtype), surrogate)
    compute = approximate_gradient if settings.approximate else meta_gradient
    parts = [compute(view, surrogate, first, second) for first, second in weights]
    return parts[0] if len(parts) == 1 else add_gradients(parts)


def take_best(state: Flippable, gradient: PairGradient, count: int) -> None:
    """Flips the `count` best pairs that are still allowed one after the other."""
    found = best_flips(gradient, state, 1 if count == 1 else count + SPARE)
    state.flip_allowed(found.pairs.tolist(), len(state.flipped) + count)
