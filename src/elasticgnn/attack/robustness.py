"""How models hold up: attacked by transfer and adaptively through themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev

import torch
from torch import nn

from elasticgnn.attack.budget import AttackBudget
from elasticgnn.attack.contestant import Contestant
from elasticgnn.attack.evaluation import fixed_or_drawn
from elasticgnn.attack.hardening import routes
from elasticgnn.attack.meta import MetattackSettings
from elasticgnn.attack.run import METHODS, attack
from elasticgnn.attack.search import GradientSettings
from elasticgnn.attack.victim import Retraining, Victim
from elasticgnn.data import NodeTask, Split
from elasticgnn.graph import Graph
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan

GRADIENT_METHODS = ("prbcd", "grbcd", "pgd")
SURROGATE = "gcn"  # the model whose attack is handed on to the others
ATTACKER = 1000  # added to the seed of the attacker's own network


@dataclass(frozen=True)
class RobustnessPlan:
    """What to run: every model under every attack at every rate, with several seeds.

    prbcd, grbcd and pgd are evasion: found and measured on trained weights, once through a GCN
    ("transfer") and once through the model itself ("adaptive"; a concave penalty also through its
    convex neighbours, see `routes`). The others poison: the graph is changed, then every model is
    trained on it. Metattack's surrogate is linear, so its flips are "transfer" to every model;
    "adaptive" is PRBCD through the model itself while it trains from scratch on the changing graph
    (`poisoning`), and a new training on the graph it leaves.
    An adaptive accuracy is never above that by transfer: the attacker takes the better of the two.
    """

    models: tuple[Contestant, ...]
    attacks: tuple[str, ...] = ("metattack", "prbcd")
    rates: tuple[float, ...] = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
    seeds: int = 3
    training: TrainingPlan = field(default_factory=lambda: TrainingPlan(epochs=200))
    metattack: MetattackSettings = field(default_factory=MetattackSettings)
    gradient: GradientSettings = field(default_factory=GradientSettings)
    poisoning: Retraining = field(default_factory=Retraining)

    def __post_init__(self) -> None:
        unknown = set(self.attacks) - set(METHODS)
        if unknown:
            raise ValueError(f"attacks must be among {METHODS}, got {sorted(unknown)}")
        if not self.models or not self.attacks or self.seeds < 1:
            raise ValueError("plan must have models, attacks and seeds, got none of one")
        if any(not rate >= 0 for rate in self.rates) or not self.rates:
            raise ValueError(f"rates must be numbers >= 0, got {self.rates}")


@dataclass(frozen=True)
class Outcome:
    """Test accuracies (one per seed) of a model under one attack at one rate."""

    model: str
    attack: str
    mode: str  # "clean", "transfer" or "adaptive"
    rate: float
    accuracy: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.accuracy)

    @property
    def deviation(self) -> float:
        return stdev(self.accuracy) if len(self.accuracy) > 1 else 0.0


Measured = tuple[str, str, str, float, float]  # model, attack, mode, rate, accuracy
Say = Callable[[str], None]


def measure_robustness(
    task: NodeTask, plan: RobustnessPlan, seed: int = 0, say: Say = lambda line: None
) -> tuple[Outcome, ...]:
    """Every combination of the plan, in its order; run k uses seed + k."""
    found: dict[tuple[str, str, str, float], list[float]] = {}
    for k in range(plan.seeds):
        for model, method, mode, rate, accuracy in measure_once(task, plan, seed + k):
            say(f"seed {seed + k}: {model} {method} {mode} {rate:g}: {100 * accuracy:.1f} %")
            found.setdefault((model, method, mode, rate), []).append(accuracy)
    return tuple(Outcome(*key, tuple(values)) for key, values in found.items())


def measure_once(task: NodeTask, plan: RobustnessPlan, seed: int) -> Iterator[Measured]:
    """All measurements of one seed."""
    split = fixed_or_drawn(task, seed)
    trained = {each: each.train(task, split, plan.training, seed) for each in plan.models}
    for each, model in trained.items():
        clean = Victim(model, task, split.test).accuracy(task.graph)
        for method in plan.attacks:
            yield each.name, method, "clean", 0.0, clean
    for method in plan.attacks:
        if method in GRADIENT_METHODS:
            yield from evade(method, task, split, trained, plan, seed)
        else:
            yield from poison(method, task, split, plan, seed)


def evade(
    method: str,
    task: NodeTask,
    split: Split,
    trained: dict[Contestant, nn.Module],
    plan: RobustnessPlan,
    seed: int,
) -> Iterator[Measured]:
    """Attacks on trained weights: handed on from a GCN, and through each model itself."""
    surrogate = next((m for each, m in trained.items() if each.name == SURROGATE), None)
    if surrogate is None:
        gcn = Contestant(SURROGATE, ModelSettings("gcn"))
        surrogate = gcn.train(task, split, plan.training, seed)
    for rate in (rate for rate in plan.rates if rate > 0):

        def find(victim: nn.Module, rate: float = rate) -> Graph:
            generator = torch.Generator().manual_seed(seed)
            budget = AttackBudget(rate=rate)
            found = attack(task, split, budget, method, victim, generator, settings=plan.gradient)
            return found.apply(task.graph)

        handed_on = find(surrogate)
        for each, model in trained.items():
            victim = Victim(model, task, split.test)
            transfer = victim.accuracy(handed_on)
            yield each.name, method, "transfer", rate, transfer
            if each.sees_graph:
                own = [find(way) for way in routes(model) if way is not surrogate]
                worst = min((victim.accuracy(graph) for graph in own), default=transfer)
                yield each.name, method, "adaptive", rate, min(worst, transfer)


def poison(
    method: str, task: NodeTask, split: Split, plan: RobustnessPlan, seed: int
) -> Iterator[Measured]:
    """Attacks before training: every model is trained anew on the attacked graph."""
    largest = max(plan.rates)
    if largest <= 0:
        return
    settings = plan.metattack if method == "metattack" else None
    generator = torch.Generator().manual_seed(seed)
    budget = AttackBudget(rate=largest)
    flips = attack(task, split, budget, method, None, generator, settings=settings)
    for rate in (rate for rate in plan.rates if rate > 0):
        count = min(len(flips), AttackBudget(rate=rate).flips(task.graph))
        handed_on = flips.apply(task.graph, count)
        for each in plan.models:
            transfer = accuracy_after(each, task.with_graph(handed_on), split, plan, seed)
            yield each.name, method, "transfer", rate, transfer
            if method == "metattack" and each.sees_graph:
                graph = poisoned(each, task, split, rate, plan, seed)
                own = accuracy_after(each, task.with_graph(graph), split, plan, seed)
                yield each.name, method, "adaptive", rate, min(own, transfer)


def accuracy_after(
    each: Contestant, task: NodeTask, split: Split, plan: RobustnessPlan, seed: int
) -> float:
    """Test accuracy after training on the task's graph."""
    model = each.train(task, split, plan.training, seed)
    return Victim(model, task, split.test).accuracy(task.graph)


def poisoned(
    each: Contestant, task: NodeTask, split: Split, rate: float, plan: RobustnessPlan, seed: int
) -> Graph:
    """The graph after PRBCD through the model as it trains from scratch, attacker's own weights."""
    generator = torch.Generator().manual_seed(seed + ATTACKER)
    model = each.untrained(task, generator)
    settings = replace(plan.gradient, poisoning=plan.poisoning)
    budget = AttackBudget(rate=rate)
    found = attack(task, split, budget, "prbcd", model, generator, settings=settings)
    return found.apply(task.graph)


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Lines of plain text: one per model, attack and mode, the rates as columns."""
    rates = sorted({outcome.rate for outcome in outcomes if outcome.rate > 0})
    clean = {(o.model, o.attack): o for o in outcomes if o.mode == "clean"}
    rows: dict[tuple[str, str, str], dict[float, Outcome]] = {}
    for outcome in outcomes:
        if outcome.mode != "clean":
            key = (outcome.attack, outcome.mode, outcome.model)
            rows.setdefault(key, {})[outcome.rate] = outcome
    width = max([len("model"), *(len(model) for _, _, model in rows)])
    head = f"{'attack':<10} {'mode':<9} {'model':<{width}}"
    lines = [head + columns(["0 %", *percents(rates)])]
    for (method, mode, model), by_rate in sorted(rows.items()):
        cells = [clean[model, method], *(by_rate[rate] for rate in rates)]
        values = [f"{100 * cell.mean:.1f} ± {100 * cell.deviation:.1f}" for cell in cells]
        lines.append(f"{method:<10} {mode:<9} {model:<{width}}" + columns(values))
    return lines


def percents(rates: Sequence[float]) -> list[str]:
    return [f"{100 * rate:g} %" for rate in rates]


def columns(cells: Sequence[str]) -> str:
    return "".join(f" {cell:>12}" for cell in cells)


def quick(plan: RobustnessPlan, epochs: int) -> RobustnessPlan:
    """The same plan with shorter gradient attacks."""
    fresh = min(plan.gradient.fresh_epochs, 4 * epochs // 5)
    return replace(plan, gradient=replace(plan.gradient, epochs=epochs, fresh_epochs=fresh))
