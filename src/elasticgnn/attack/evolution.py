"""EvA (ICLR 2026): flips found by evolution. Black box: it sees labels and predictions only.

An individual is a list of pairs, its fitness the number of attacked nodes that stay correct. Beside
the authors' mutation and crossover there are rounds of local search (`exchange.py`: many pairs
tried on one graph in `together.py`, two merged into one in `merging.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.attack.archive import Archive, no_keys
from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.exchange import exchange, try_pairs
from elasticgnn.attack.generation import Generation, Keys, Mask
from elasticgnn.attack.many_graphs import Predictor
from elasticgnn.graph import Graph
from elasticgnn.operator.flipped import FlipLists

ARCHIVED = 0.85  # of the new pairs come from the archive
FIRST, FIRST_ALONE = 2, 10  # times the usual number of pairs are tried at the start
TRIES = 500  # to replace pairs that are not allowed
BUSY = 0.1  # as likely to mutate as a pair that seems to do nothing is a pair that hit something


@dataclass(frozen=True)
class EvolutionSettings:
    """Options of EvA.

    population: individuals kept; children: new ones per generation, each from two parents chosen by
    tournaments of two. mutation: mean number of pairs that a child draws anew, one end of them at
    an attacked node that its parent leaves correct (of two the one of smaller degree), the other
    at such a node too (`both_ends` of the draws) or anywhere, of another class (`other_class`).
    screened: single pairs that are tried on top of the best individual every `screen_every`
    generations (a multiple of it at the start), and exchanged for its weakest; those that hit
    something are drawn by preference. 0: mutation and crossover alone, as its authors have it.
    together: of these, so many share a graph first, and only the best are tried again, a few on a
    graph; pairs that hold one node each are merged into one. 1: each alone, and nothing is merged.
    around_targets: only pairs with an attacked node at one end, also among those put together.

    >>> from elasticgnn.attack import EvolutionSettings
    >>> EvolutionSettings(population=8, generations=10).children
    32
    """

    population: int = 32
    children: int = 32
    generations: int = 300
    mutation: float = 4.0
    other_class: float = 0.9
    both_ends: float = 0.6
    screened: int = 1000
    screen_every: int = 5
    together: int = 64
    around_targets: bool = False
    constraints: Constraints = field(default_factory=Constraints)

    def __post_init__(self) -> None:
        for name in ("population", "children", "generations", "screen_every", "together"):
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
class AttackProblem:
    """What the attacker knows: the graph, the nodes to hit with their classes, all labels."""

    graph: Graph
    nodes: Tensor
    labels: Tensor
    predict: Predictor


class Evolution:
    """One attack: `start` draws or takes over a population, `step` makes the next one.

    `archive` holds pairs that hit something when they were tried alone.
    """

    def __init__(
        self,
        problem: AttackProblem,
        flips: int,
        settings: EvolutionSettings,
        random: np.random.Generator,
    ) -> None:
        self.problem, self.flips, self.settings, self.random = problem, flips, settings, random
        self.num_nodes = problem.graph.num_nodes
        tail, head = problem.graph.tail.numpy(), problem.graph.head.numpy()
        self.edges = np.sort(tail * np.int64(self.num_nodes) + head)
        self.degree = np.bincount(np.concatenate((tail, head)), minlength=self.num_nodes)
        self.nodes, self.labels = problem.nodes.numpy(), problem.labels.numpy()
        self.archive = Archive()
        self.untouched = self.evaluate(np.zeros((1, 0), np.int64))
        self.clean = self.untouched.correct[0]

    def start(self, known: Keys | None = None) -> Generation:
        """A random population; rows of `known` (k, flips) take the first places.

        Where pairs are screened, one individual is made of the best of which no two hit the same.
        """
        count, everyone = self.settings.population, np.ones(len(self.nodes), bool)
        cover = no_keys()
        if self.settings.screened:
            times = FIRST_ALONE if self.settings.together == 1 else FIRST
            tried = try_pairs(self, self.untouched, times * self.settings.screened)
            cover = tried.disjoint(self.flips, self.random).keys
        keys = self.draw(np.tile(everyone, (count, 1)), np.full(count, self.flips))
        keys = keys.reshape(count, self.flips)
        keys[0, : len(cover)] = cover
        if known is not None:
            keys[: len(known)] = known[:count]
        return self.evaluate(self.repair(keys, np.tile(everyone, (count, 1))))

    def improve(self, now: Generation) -> Generation:
        """The generation after a round of local search on its best individual."""
        found = exchange(self, now.best_of(1), self.settings.screened)
        return found.with_parents(now).best_of(self.settings.population)

    def step(self, now: Generation) -> Generation:
        """The fittest of a generation and its children."""
        one, other = self.tournament(now), self.tournament(now)
        cut = self.random.integers(0, self.flips + 1, len(one))
        from_one = np.arange(self.flips) < cut[:, None]
        keys = np.where(from_one, now.keys[one], now.keys[other])
        # each child has its own rate: small steps late, large ones early, without a schedule
        mean = self.settings.mutation * np.exp(self.random.normal(0, 1, (len(one), 1)))
        alive = now.correct[one]
        chance = chance_of_change(self.idle(keys, alive), mean)
        changed = self.random.random(keys.shape) < chance
        keys[changed] = self.draw(alive, changed.sum(1))
        child = self.evaluate(self.repair(keys, alive))
        return child.with_parents(now).best_of(self.settings.population)

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
        return np.where(now.num_correct[pair[0]] <= now.num_correct[pair[1]], pair[0], pair[1])

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
        if len(self.archive) and archived > 0:
            known = self.random.random(len(keys)) < archived
            keys[known] = self.archive.recall(int(known.sum()), self.random)
        return keys

    def repair(self, keys: Keys, alive: Mask) -> Keys:
        """Individuals without repeated pairs, and without removals that isolate a node.

        New pairs come from all, not from the archive, which may hold too few different ones.
        """
        for _ in range(TRIES):
            bad = repeated(keys)
            if self.settings.constraints.keep_last_edge:
                bad |= self.isolating(keys)
            if not bad.any():
                return keys
            keys[bad] = self.draw(alive, bad.sum(1), archived=0.0)
        raise ValueError(f"budget must leave room for {self.flips} different flips, got too many")

    def isolating(self, keys: Keys) -> Mask:
        """Removals at nodes that are left without any edge."""
        removed = self.are_edges(keys)
        row, place = np.nonzero(removed)
        tail, head = np.divmod(keys[row, place], self.num_nodes)
        lone = self.degree_after(keys) <= 0
        removed[row, place] = lone[row, tail] | lone[row, head]
        return removed

    def are_edges(self, keys: Keys) -> Mask:
        """Which pairs the untouched graph has, of any shape."""
        place = np.minimum(np.searchsorted(self.edges, keys), len(self.edges) - 1)
        return np.asarray(self.edges[place] == keys if len(self.edges) else keys < 0)

    def degree_after(self, keys: Keys) -> NDArray[np.int64]:
        """(individuals, n): edges at each node once the pairs are flipped."""
        size, sign = self.num_nodes, np.where(self.are_edges(keys), -1.0, 1.0).ravel()
        row = np.arange(len(keys))[:, None] * size
        degree = np.tile(self.degree, len(keys))
        for ends in np.divmod(keys, size):
            change = np.bincount((row + ends).ravel(), sign, minlength=len(degree))
            degree += change.astype(np.int64)
        return degree.reshape(len(keys), size)

    def evaluate(self, keys: Keys) -> Generation:
        """The individuals with what they leave."""
        lists = FlipLists.from_keys(torch.from_numpy(keys), self.num_nodes)
        label = self.problem.predict(lists)[:, self.problem.nodes].numpy()
        return Generation(keys, label == self.labels[self.nodes])


def chance_of_change(idle: Mask, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each pair: `mean` of a row change on average, idle ones the more often; half at most."""
    weight = np.where(idle, 1.0, BUSY)
    return np.minimum(mean * weight / weight.sum(1, keepdims=True), 0.5)


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
    problem: AttackProblem,
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
    search = Evolution(problem, flips, settings, random)
    now = search.start(None if known is None else known.numpy())
    curve = []
    for generation in range(settings.generations):
        if settings.screened and generation % settings.screen_every == 0:
            now = search.improve(now)
        now = search.step(now)
        curve.append(1 - float(now.num_correct.min()) / len(problem.nodes))
        progress(generation, curve[-1])
    best = now.best_of(1).keys[0]
    pairs = np.stack(np.divmod(best, search.num_nodes), 1)
    return torch.from_numpy(pairs), tuple(curve)
