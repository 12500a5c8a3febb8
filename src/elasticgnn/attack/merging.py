"""Two pairs that hold one node each give way to one between these nodes: a flip is saved.

Local search one pair at a time stops where no exchange pays. A pair of two weak nodes of different
classes brings both down, but adds nothing while each is down already by a pair of its own. Many
such merges are tried on one graph: whose nodes are both down there, has worked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from elasticgnn.attack.evolution import Evolution
    from elasticgnn.attack.generation import Generation

Keys = NDArray[np.int64]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]
GRAPHS = 60  # on which merges are tried in a round, at most


@dataclass(frozen=True, eq=False)
class Merges:
    """places (k, 2) in an individual, whose pairs give way to keys[k]; no place is there twice."""

    places: Places
    keys: Keys

    def __len__(self) -> int:
        return len(self.keys)

    def made(self, keys: Keys, count: int) -> Keys:
        """The pairs of an individual after the first `count` merges, `count` fewer."""
        kept = np.delete(keys, self.places[:count].ravel())
        return np.append(kept, self.keys[:count])


def single_pairs(search: Evolution, held: Mask, worth: Places) -> tuple[Places, Places]:
    """Pairs that hold one node, in a random order, and the place of it among the attacked nodes.

    Two pairs that bring a node down only together both hold it: neither of them is here.
    """
    single = np.flatnonzero((held.sum(1) == 1) & (worth == 1))
    place, number = held[single].argmax(1), held[single].sum(0)
    single = search.random.permutation(single[number[place] == 1])
    return single, held[single].argmax(1)


def merged(search: Evolution, best: Generation, single: Places, held: Places) -> Merges:
    """What worked of merging every two of the pairs `single`, which hold the nodes `held`."""
    met = search.random.permutation(matchings(len(single) // 2 * 2))[:GRAPHS]
    worked, keys = trial(search, best, single[met], held[met])
    chosen = disjoint_rows(met[worked], search.random)
    return Merges(single[met[worked][chosen]], keys[worked][chosen])


def trial(search: Evolution, best: Generation, places: Places, held: Places) -> tuple[Mask, Keys]:
    """Which merges bring both nodes down (graphs, merges), and the new pairs' keys.

    places (graphs, merges, 2) of the pairs that give way, held likewise the nodes they hold. Where
    the new pair is an edge or there already, the first of the two stays.
    """
    nodes = np.sort(search.nodes[held], axis=2)
    keys = nodes[:, :, 0] * np.int64(search.num_nodes) + nodes[:, :, 1]
    if not keys.size:
        return np.zeros(keys.shape, bool), keys
    new = ~np.isin(keys, best.keys[0]) & ~search.are_edges(keys)
    rest = np.tile(np.delete(best.keys[0], places[0].ravel()), (len(keys), 1))
    lists = np.concatenate((rest, np.where(new, keys, best.keys[0, places[:, :, 0]])), 1)
    down = ~np.take_along_axis(search.evaluate(lists).correct, held.reshape(len(held), -1), 1)
    return down.reshape(held.shape).all(2) & new, keys


def matchings(count: int) -> Places:
    """(count - 1, count // 2, 2): every two of an even number meet once, like in a tournament."""
    if count == 0:
        return np.zeros((0, 0, 2), np.int64)
    others = np.arange(1, count)
    seats = np.stack([np.append(0, np.roll(others, shift)) for shift in range(count - 1)])
    return np.stack((seats[:, : count // 2], seats[:, : count // 2 - 1 : -1]), 2)


def disjoint_rows(pairs: Places, random: np.random.Generator) -> Places:
    """Rows of `pairs` (k, 2) of which no two share a number; those with few choices come first."""
    choices = np.bincount(pairs.ravel(), minlength=1)[pairs].min(1)
    taken, kept = set[int](), list[int]()
    for row in np.argsort(choices + random.random(len(pairs)), kind="stable"):
        one, other = pairs[row].tolist()
        if one not in taken and other not in taken:
            taken |= {one, other}
            kept.append(row)
    return np.array(kept, np.int64)
