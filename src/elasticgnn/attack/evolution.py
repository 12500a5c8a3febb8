"""EvA (ICLR 2026): flips found by evolution. Black box: it sees labels and predictions only.

An individual is a list of pairs, its fitness the number of attacked nodes that stay correct.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.many_graphs import Predictor
from elasticgnn.graph import Graph
from elasticgnn.operator.flipped import FlipLists

Keys = NDArray[np.int64]  # (individuals, flips): tail * n + head
ARCHIVE = 6000  # pairs remembered
ARCHIVED = 0.85  # of the new pairs come from there
FIRST = 16  # times the usual number of pairs are tried at the start
BUSY = 0.1  # as likely to mutate as a pair that seems to do nothing is a pair that hit something
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class EvolutionSettings:
    """Options of EvA.

    population: individuals kept; children: new ones per generation, each from two parents chosen by
    tournaments of two. mutation: mean number of pairs that a child draws anew, one end of them at
    an attacked node that its parent leaves correct (of two the one of smaller degree), the other
    at such a node too (`both_ends` of the draws) or anywhere, of another class (`other_class`).
    screened: single pairs that are tried on top of the best individual every `screen_every`
    generations (16 times as many at the start); those that hit something are drawn by preference.

    >>> from elasticgnn.attack import EvolutionSettings
    >>> EvolutionSettings(population=8, generations=10).children
    32
    """

    population: int = 32
    children: int = 32
    generations: int = 2000
    mutation: float = 4.0
    other_class: float = 0.9
    both_ends: float = 0.6
    screened: int = 320
    screen_every: int = 20
    constraints: Constraints = field(default_factory=Constraints)

    def __post_init__(self) -> None:
        for name in ("population", "children", "generations", "screen_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.screened < 0:
            raise ValueError(f"screened must be >= 0, got {self.screened}")
        if not self.mutation > 0:
            raise ValueError(f"mutation must be > 0, got {self.mutation}")
        for name in ("other_class", "both_ends"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be in [0, 1], got {getattr(self, name)}")
        if self.constraints.degree_test is not None or self.constraints.node_share is not None:
            raise ValueError("constraints must be keep_last_edge alone for eva, got others")


@dataclass(frozen=True, eq=False)
class Aim:
    """What the attacker knows: the graph, the nodes to hit with their classes, all labels."""

    graph: Graph
    nodes: Tensor
    labels: Tensor
    predict: Predictor


@dataclass(eq=False)
class Generation:
    """Individuals, and which attacked nodes each leaves correct (individuals, nodes)."""

    keys: Keys
    correct: Mask

    @property
    def left(self) -> NDArray[np.int64]:
        """Attacked nodes still correct: what evolution lowers."""
        return self.correct.sum(1)

    def best_of(self, count: int) -> "Generation":
        """The fittest `count`; of equals the first."""
        order = np.argsort(self.left, kind="stable")[:count]
        return Generation(self.keys[order], self.correct[order])


class Evolution:
    """One attack: `start` draws or takes over a population, `step` makes the next one.

    `archive` holds pairs that hit something when they were tried alone, and how much.
    """

    def __init__(
        self, aim: Aim, flips: int, settings: EvolutionSettings, random: np.random.Generator
    ) -> None:
        self.aim, self.flips, self.settings, self.random = aim, flips, settings, random
        self.num_nodes = aim.graph.num_nodes
        tail, head = aim.graph.tail.numpy(), aim.graph.head.numpy()
        self.edges = np.sort(tail * np.int64(self.num_nodes) + head)
        self.degree = np.bincount(np.concatenate((tail, head)), minlength=self.num_nodes)
        self.nodes, self.labels = aim.nodes.numpy(), aim.labels.numpy()
        untouched = self.judge(np.zeros((1, 0), np.int64))
        self.clean = untouched.correct[0]
        self.archive: tuple[Keys, NDArray[np.int64]] = (np.zeros(0, np.int64),) * 2
        if flips > 0:
            self.screen(untouched, FIRST * settings.screened)

    def start(self, known: Keys | None = None) -> Generation:
        """A random population; rows of `known` (k, flips) take the first places."""
        count, everyone = self.settings.population, np.ones(len(self.nodes), bool)
        keys = self.draw(np.tile(everyone, (count, 1)), np.full(count, self.flips))
        keys = keys.reshape(count, self.flips)
        if known is not None:
            keys[: len(known)] = known[:count]
        return self.judge(self.repair(keys, np.tile(everyone, (count, 1))))

    def screen(self, now: Generation, count: int) -> None:
        """Tries pairs on top of the best individual; what they hit there goes to the archive."""
        if count == 0:
            return
        best = now.best_of(1)
        keys = np.unique(self.draw(best.correct, np.array([count]), archived=0.0))
        keys = keys[~np.isin(keys, best.keys[0])]
        tried = np.concatenate((np.repeat(best.keys, len(keys), 0), keys[:, None]), axis=1)
        tried = tried[~(self.isolating(tried).any(1))]
        gain = best.left[0] - self.judge(tried).left
        keys = np.concatenate((tried[gain > 0, -1], self.archive[0]))[:ARCHIVE]
        self.archive = keys, np.concatenate((gain[gain > 0], self.archive[1]))[:ARCHIVE]

    def recall(self, count: int) -> NDArray[np.int64]:
        """Pairs of the archive, by the cube of what they hit."""
        keys, gain = self.archive
        chance = np.cumsum(gain.astype(float) ** 3)
        return keys[np.searchsorted(chance, self.random.random(count) * chance[-1], side="right")]

    def step(self, now: Generation) -> Generation:
        """The fittest of a generation and its children."""
        one, other = self.tournament(now), self.tournament(now)
        cut = self.random.integers(0, self.flips + 1, len(one))
        from_one = np.arange(self.flips) < cut[:, None]
        keys = np.where(from_one, now.keys[one], now.keys[other])
        # each child has its own rate: small steps late, large ones early, without a schedule
        mean = self.settings.mutation * np.exp(self.random.normal(0, 1, (len(one), 1)))
        alive = now.correct[one]
        weight = np.where(self.idle(keys, alive), 1.0, BUSY)
        chance = mean * weight / weight.sum(1, keepdims=True)
        changed = self.random.random(keys.shape) < np.minimum(chance, 0.5)
        keys[changed] = self.draw(alive, changed.sum(1))
        child = self.judge(self.repair(keys, alive))
        # of equals the younger stay, so that the population drifts where it cannot improve
        both = Generation(
            np.concatenate((child.keys, now.keys)), np.concatenate((child.correct, now.correct))
        )
        return both.best_of(self.settings.population)

    def idle(self, keys: Keys, alive: Mask) -> Mask:
        """Pairs at neither end of which an attacked node is wrong: they seem to do nothing."""
        wrong = np.zeros((len(keys), self.num_nodes), bool)
        wrong[:, self.nodes] = ~alive
        wrong[:, self.nodes[~self.clean]] = False  # those were wrong before
        tail, head = np.divmod(keys, self.num_nodes)
        row = np.arange(len(keys))[:, None]
        return np.asarray(~(wrong[row, tail] | wrong[row, head]))

    def tournament(self, now: Generation) -> NDArray[np.int64]:
        """The fitter of two at random, for each child."""
        pair = self.random.integers(0, len(now.keys), (2, self.settings.children))
        return np.where(now.left[pair[0]] <= now.left[pair[1]], pair[0], pair[1])

    def draw(
        self, alive: Mask, count: NDArray[np.int64], *, archived: float = ARCHIVED
    ) -> NDArray[np.int64]:
        """Pairs, count[k] for individual k, one end among the nodes alive[k] there.

        A share `archived` of them comes from the archive instead.
        """
        owner = np.repeat(np.arange(len(alive)), count)
        order = np.argsort(~alive, axis=1, kind="stable")  # the alive ones first
        number = np.maximum(alive.sum(1), 1)

        def hit(rows: NDArray[np.int64]) -> NDArray[np.int64]:
            """An alive node for each row, the weaker of two: few edges are soon outvoted."""
            place = self.random.random((2, len(rows))) * number[rows]
            two = self.nodes[order[rows, place.astype(np.int64)]]
            return np.where(self.degree[two[0]] <= self.degree[two[1]], two[0], two[1])

        def meet(rows: NDArray[np.int64]) -> NDArray[np.int64]:
            """The other end: another alive node, which may fall too, or any."""
            anyone = self.random.integers(0, self.num_nodes, len(rows))
            both = self.random.random(len(rows)) < self.settings.both_ends
            return np.where(both, hit(rows), anyone)

        one, other = hit(owner), meet(owner)
        picky = self.random.random(len(owner)) < self.settings.other_class
        for _ in range(3):  # most find another class at the first try
            again = (other == one) | (picky & (self.labels[other] == self.labels[one]))
            other[again] = meet(owner[again])
        other = np.where(other == one, (one + 1) % self.num_nodes, other)
        keys = np.minimum(one, other) * np.int64(self.num_nodes) + np.maximum(one, other)
        if len(self.archive[0]) and archived > 0:
            known = self.random.random(len(keys)) < archived
            keys[known] = self.recall(int(known.sum()))
        return keys

    def repair(self, keys: Keys, alive: Mask) -> Keys:
        """Individuals without repeated pairs, and without removals that isolate a node."""
        for _ in range(20):
            bad = repeated(keys)
            if self.settings.constraints.keep_last_edge:
                bad |= self.isolating(keys)
            if not bad.any():
                break
            keys[bad] = self.draw(alive, bad.sum(1))
        return keys

    def isolating(self, keys: Keys) -> Mask:
        """Removals at nodes that are left without any edge."""
        removal = np.isin(keys, self.edges)
        tail, head = np.divmod(keys, self.num_nodes)
        row = np.arange(len(keys))[:, None] * self.num_nodes
        sign = np.where(removal, -1.0, 1.0).ravel()
        size = len(keys) * self.num_nodes
        change = np.bincount((row + tail).ravel(), sign, size)
        change += np.bincount((row + head).ravel(), sign, size)
        lone = (self.degree + change.reshape(len(keys), -1) <= 0).ravel()
        return removal & (lone[row + tail] | lone[row + head])

    def judge(self, keys: Keys) -> Generation:
        """The individuals with what they leave."""
        lists = FlipLists.from_keys(torch.from_numpy(keys), self.num_nodes)
        label = self.aim.predict(lists)[:, self.aim.nodes].numpy()
        return Generation(keys, label == self.labels[self.nodes])


def repeated(keys: Keys) -> Mask:
    """All but one of equal entries of a row."""
    order = np.argsort(keys, axis=1, kind="stable")
    ascending = np.take_along_axis(keys, order, 1)
    again = np.zeros(keys.shape, bool)
    again[:, 1:] = ascending[:, 1:] == ascending[:, :-1]
    found = np.empty_like(again)
    np.put_along_axis(found, order, again, 1)
    return found


def evolve(
    aim: Aim,
    flips: int,
    settings: EvolutionSettings,
    random: np.random.Generator,
    *,
    known: Tensor | None = None,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> tuple[Tensor, tuple[float, ...]]:
    """The best flips (k, 2) and the share of nodes hit after each generation."""
    if flips == 0:
        return torch.zeros(0, 2, dtype=torch.int64), ()
    search = Evolution(aim, flips, settings, random)
    now = search.start(None if known is None else known.numpy())
    curve = []
    for generation in range(settings.generations):
        if generation % settings.screen_every == 0:
            search.screen(now, settings.screened)
        now = search.step(now)
        curve.append(1 - float(now.left.min()) / len(aim.nodes))
        progress(generation, curve[-1])
    best = now.best_of(1).keys[0]
    pairs = np.stack(np.divmod(best, search.num_nodes), 1)
    return torch.from_numpy(pairs), tuple(curve)
