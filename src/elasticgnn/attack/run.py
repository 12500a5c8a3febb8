"""`attack`: flips on a task's graph by any method, as one record."""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from elasticgnn.attack.budget import AttackBudget
from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.evolution import AttackProblem, EvolutionSettings, evolve
from elasticgnn.attack.grbcd import grbcd
from elasticgnn.attack.many_graphs import predictor
from elasticgnn.attack.meta import MetattackSettings, metattack
from elasticgnn.attack.methods import METHODS, VICTIM_METHODS
from elasticgnn.attack.perturbation import Perturbation, flat_settings
from elasticgnn.attack.prbcd import prbcd
from elasticgnn.attack.search import Flips, GradientSettings, Progress, Search
from elasticgnn.attack.simple import dice, random_flips
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, Split

Settings = MetattackSettings | GradientSettings | EvolutionSettings | Constraints
NODE_SHARE = 0.5  # of a node's degree: LR-BCD's local budget where none is given
LARGEST_PGD = 20_000_000  # pairs: beyond this a block is the way


def as_given(search: Search) -> Search:
    """The search with its own settings."""
    return search


def over_all_pairs(search: Search) -> Search:
    """PRBCD whose block holds every pair is PGD."""
    every = check_all_pairs(search.victim.task.num_nodes)
    return replace(search, settings=replace(search.settings, block_size=every, fresh_epochs=0))


def check_all_pairs(num_nodes: int) -> int:
    """The number of all pairs, refused where a block is the way."""
    every = num_nodes * (num_nodes - 1) // 2
    if every > LARGEST_PGD:
        raise ValueError(f"pgd must have at most {LARGEST_PGD} pairs, got {every}: use prbcd")
    return every


def with_local_budget(search: Search) -> Search:
    """PRBCD with a budget for every node, too, is LR-BCD."""
    if search.settings.constraints.node_share is not None:
        return search
    limits = replace(search.settings.constraints, node_share=NODE_SHARE)
    return replace(search, settings=replace(search.settings, constraints=limits))


# by name, how a gradient attack prepares its search, and what it runs
GRADIENT_ATTACKS = {
    "prbcd": (as_given, prbcd),
    "grbcd": (as_given, grbcd),
    "pgd": (over_all_pairs, prbcd),
    "lrbcd": (with_local_budget, prbcd),
}
DRAWS = {"random": random_flips, "dice": dice}  # without a model
SETTINGS: dict[str, type[Settings]] = {
    "metattack": MetattackSettings,
    "eva": EvolutionSettings,
    **dict.fromkeys(DRAWS, Constraints),
    **dict.fromkeys(GRADIENT_ATTACKS, GradientSettings),
}


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

    "metattack" needs no victim; "prbcd", "grbcd", "pgd" and "lrbcd" go through the edge gradient of
    the trained model `victim`, "eva" through its predictions alone; they aim at `targets` (the
    split's test nodes when None). "random" and "dice" need labels at most. `settings` are
    MetattackSettings, GradientSettings, EvolutionSettings or Constraints.

    >>> from elasticgnn.attack import AttackBudget, attack
    >>> flips = attack(task, split, AttackBudget(rate=0.05), "dice", generator=generator)
    >>> len(flips) == AttackBudget(rate=0.05).flips(task.graph)
    True
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    if generator is None:
        raise ValueError("generator must be a torch.Generator, got None")
    chosen, targets = check_settings(method, settings), check_targets(task, method, targets)
    if isinstance(chosen, MetattackSettings):
        return metattack(task, split, budget, chosen, generator, progress)
    seed, flips = generator.initial_seed(), budget.flips(task.graph)
    if isinstance(chosen, Constraints):
        found = Flips(DRAWS[method](task, flips, chosen, generator), ())
    elif victim is None:
        raise ValueError(f"victim must be a trained model for method {method!r}, got None")
    else:
        nodes = split.test if targets is None else targets
        if isinstance(chosen, EvolutionSettings):
            found = run_evolution(task, nodes, flips, chosen, victim, generator, progress)
        else:
            aimed = Victim(victim, task, nodes, loss=chosen.loss)
            aimed_search = Search(aimed, flips, chosen, generator, None, progress)
            found = run_gradient_attack(method, aimed_search, split)
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


def check_targets(task: NodeTask, method: str, targets: Tensor | None) -> Tensor | None:
    """The targets as they are: different nodes, for a method that aims at some."""
    if targets is None:
        return None
    if method not in VICTIM_METHODS:
        raise ValueError(f"targets must be given to {VICTIM_METHODS} only, got {method!r}")
    if not isinstance(targets, Tensor) or targets.dtype != torch.int64 or targets.ndim != 1:
        got = getattr(targets, "dtype", type(targets).__name__)
        raise ValueError(f"targets must be (k,) int64, numbers of nodes, got {got}")
    if bool(((targets < 0) | (targets >= task.num_nodes)).any()):
        raise ValueError(f"targets must be nodes in 0..{task.num_nodes - 1}, got others")
    if len(torch.unique(targets)) < len(targets):
        raise ValueError("targets must be different nodes, got one twice")
    return targets


def check_settings(method: str, settings: Settings | None) -> Settings:
    """The settings given, or the method's own; those of another method are refused."""
    kind = SETTINGS[method]
    if settings is None:
        return kind()
    if not isinstance(settings, kind):
        given = type(settings).__name__
        raise ValueError(f"settings must be {kind.__name__} for method {method!r}, got {given}")
    return settings


def run_evolution(
    task: NodeTask,
    nodes: Tensor,
    flips: int,
    settings: EvolutionSettings,
    victim: nn.Module,
    generator: torch.Generator,
    progress: Progress,
) -> Flips:
    """EvA against `victim`; the loss along the way is the share of nodes hit."""
    if bool((task.labels[nodes] < 0).any()) or len(nodes) == 0:
        raise ValueError("targets must be nodes of known class, got others or none")
    problem = AttackProblem(task.graph, nodes, task.labels, predictor(victim, task))
    seed = int(torch.randint(2**62, (1,), generator=generator))
    random = np.random.default_rng(seed)
    return Flips(*evolve(problem, flips, settings, random, progress=progress))


def run_gradient_attack(method: str, search: Search, split: Split) -> Flips:
    """The gradient attack `method`; its victim learns on meanwhile where the settings say so."""
    prepare, run = GRADIENT_ATTACKS[method]
    search = prepare(search)
    tries = [one_restart(run, search, split) for _ in range(search.settings.restarts)]
    return min(tries, key=lambda each: each[1])[0]


def one_restart(
    run: Callable[[Search], Flips], search: Search, split: Split
) -> tuple[Flips, tuple[float, float]]:
    """One search from the victim's present weights, and what it leaves: accuracy, then -loss."""
    victim, settings = search.victim, search.settings
    before = copy.deepcopy(victim.model.state_dict())
    if settings.poisoning is not None:
        search = replace(search, retrain=victim.follow(split, settings.poisoning))
    found = run(search)
    accuracy = victim.accuracy(victim.task.graph.with_edges_flipped(found.pairs))
    if settings.restarts > 1:
        victim.model.load_state_dict(before)
    return found, (accuracy, -found.loss[-1])
