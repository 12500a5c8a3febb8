"""`attack`: flips on a task's graph by any method, as one record."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from elasticgnn.attack.budget import AttackBudget
from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.grbcd import grbcd
from elasticgnn.attack.meta import MetattackSettings, metattack
from elasticgnn.attack.perturbation import Perturbation, flat_settings
from elasticgnn.attack.prbcd import prbcd
from elasticgnn.attack.search import Flips, GradientSettings, Progress, Search
from elasticgnn.attack.simple import dice, random_flips
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, Split

METHODS = ("metattack", "prbcd", "grbcd", "pgd", "random", "dice")
Settings = MetattackSettings | GradientSettings | Constraints
LARGEST_PGD = 20_000_000  # pairs: beyond this a block is the way


def silent(step: int, loss: float) -> None:
    """No progress shown."""


def attack(
    task: NodeTask,
    split: Split,
    budget: AttackBudget,
    method: str = "metattack",
    victim: nn.Module | None = None,
    generator: torch.Generator | None = None,
    *,
    settings: Settings | None = None,
    targets: Tensor | None = None,
    progress: Progress = silent,
) -> Perturbation:
    """The flips that `method` finds within `budget`.

    "metattack" needs no victim; "prbcd", "grbcd" and "pgd" go through the edge gradient of the
    trained model `victim` and aim at `targets` (the split's test nodes when None); "random" and
    "dice" need labels at most. `settings` are MetattackSettings, GradientSettings or Constraints.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    if generator is None:
        raise ValueError("generator must be a torch.Generator, got None")
    chosen = check_settings(method, settings)
    if isinstance(chosen, MetattackSettings):
        return metattack(task, split, budget, chosen, generator, progress)
    seed, flips = generator.initial_seed(), budget.flips(task.graph)
    if isinstance(chosen, Constraints):
        draw = random_flips if method == "random" else dice
        found = Flips(draw(task, flips, chosen, generator), ())
    else:
        if victim is None:
            raise ValueError(f"victim must be a trained model for method {method!r}, got None")
        nodes = split.test if targets is None else targets
        aimed = Victim(victim, task, nodes, loss=chosen.loss)
        found = descend(method, Search(aimed, flips, chosen, generator, None, progress), split)
    return Perturbation(
        pairs=found.pairs,
        fingerprint=task.graph.fingerprint,
        method=method,
        seed=seed,
        loss=found.loss,
        settings=flat_settings(chosen),
        split=split,
        task=task.name,
    )


def check_settings(method: str, settings: Settings | None) -> Settings:
    """The settings given, or the method's own; those of another method are refused."""
    kind: type[Settings] = Constraints if method in ("random", "dice") else GradientSettings
    if method == "metattack":
        kind = MetattackSettings
    if settings is None:
        return kind()
    if not isinstance(settings, kind):
        given = type(settings).__name__
        raise ValueError(f"settings must be {kind.__name__} for method {method!r}, got {given}")
    return settings


def descend(method: str, search: Search, split: Split) -> Flips:
    """The gradient attack `method`; its victim learns on meanwhile where the settings say so."""
    size, settings = search.victim.task.num_nodes, search.settings
    if method == "pgd":
        every = size * (size - 1) // 2
        if every > LARGEST_PGD:
            raise ValueError(f"pgd must have at most {LARGEST_PGD} pairs, got {every}: use prbcd")
        search = replace(search, settings=replace(settings, block_size=every, fresh_epochs=0))
    if settings.poisoning is not None:
        search = replace(search, retrain=search.victim.follow(split, settings.poisoning))
    return grbcd(search) if method == "grbcd" else prbcd(search)
