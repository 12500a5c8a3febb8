"""A round of local search within EvA: an individual's weakest pairs give way to better ones.

Its authors have mutation and crossover alone. Both change pairs blindly; here every pair of the
best individual is left out once and many others are put in once, all judged by predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.attack.merging import merged, single_pairs
from elasticgnn.attack.together import added, group_size, left_out, promising

if TYPE_CHECKING:
    from elasticgnn.attack.evolution import Evolution
    from elasticgnn.attack.generation import Generation

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]
AGAIN = 8  # pairs that share a graph when they are tried a second time
OUT = 16  # pairs left out together
SWAPS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 400)  # pairs exchanged at once


@dataclass(frozen=True, eq=False)
class Tried:
    """Pairs put alone on top of an individual: how many nodes each hits (net), and which."""

    keys: Keys
    gain: Counts
    hits: NDArray[np.bool_]  # (pairs, nodes)

    def disjoint(self, most: int, random: np.random.Generator) -> Tried:
        """The best `most` pairs of which no two hit the same node, best first."""
        order = np.argsort(0.5 * random.random(len(self.gain)) - self.gain, kind="stable")
        taken, chosen = np.zeros(self.hits.shape[1], bool), list[int]()
        for place in order[: int((self.gain > 0).sum())]:
            if len(chosen) == most:
                break
            if not (self.hits[place] & taken).any():
                chosen.append(place)
                taken |= self.hits[place]
        kept = np.array(chosen, np.int64)
        return Tried(self.keys[kept], self.gain[kept], self.hits[kept])


def try_pairs(search: Evolution, best: Generation, count: int) -> Tried:
    """New pairs, at most `count`, and known ones, each alone on top of the one individual `best`.

    Where many nodes are left to fall, half as many new ones are the best of those that were tried
    `together` on one graph before, and fewer at a time (AGAIN) are enough then.
    """
    size, archive = group_size(search.settings.together, int(best.num_correct[0])), search.archive
    keys = drawn(search, best, count if size == 1 else count // 2 * size)
    if size > 1:
        keys = promising(search, best, np.setdiff1d(keys, best.keys[0]), size, count // 2)
    known = search.random.permutation(archive.keys)[: count // 2]
    keys = np.setdiff1d(np.concatenate((keys, known)), best.keys[0])
    if search.settings.around_targets:
        keys = keys[np.isin(np.stack(np.divmod(keys, search.num_nodes)), search.nodes).any(0)]
    if search.settings.constraints.keep_last_edge:
        degree = search.degree_after(best.keys)[0]
        lone = (degree[np.stack(np.divmod(keys, search.num_nodes))] <= 1).any(0)
        keys = keys[~(lone & np.isin(keys, search.edges))]
    if size > 1 and len(keys):
        keys = search.random.permutation(keys)
        gain, hits = added(search, best, keys, min(AGAIN, size))
    else:
        gain, hits = alone(search, best, keys)
    archive.update(keys, gain)
    return Tried(keys, gain, hits)


def alone(search: Evolution, best: Generation, keys: Keys) -> tuple[Counts, NDArray[np.bool_]]:
    """What each of the pairs hits (net), and which nodes, on a graph of its own."""
    after = search.evaluate(np.concatenate((np.repeat(best.keys, len(keys), 0), keys[:, None]), 1))
    return best.num_correct[0] - after.num_correct, best.correct & ~after.correct


def drawn(search: Evolution, best: Generation, count: int) -> Keys:
    """`count` pairs at correct nodes, half of them put together from ends of known ones."""
    keys = search.draw(best.correct, np.array([count]), archived=0.0)
    if not len(search.archive):
        return keys
    mixed = search.archive.recombine(count // 2, search.random, search.num_nodes)
    return np.concatenate((keys[len(mixed) :], mixed))


def held_by(search: Evolution, best: Generation) -> tuple[NDArray[np.bool_], Counts]:
    """(flips, nodes): who becomes correct again without a pair; (flips,): so many, net."""
    count = best.keys.shape[1]
    others = ~np.eye(count, dtype=bool)
    without = np.tile(best.keys[0], (count, 1))[others].reshape(count, count - 1)
    after = search.evaluate(without)
    return after.correct & ~best.correct, after.num_correct - best.num_correct[0]


def exchange(search: Evolution, best: Generation, count: int) -> Generation:
    """Individuals made of `best` by exchanging 1, 2, 3, 5, ... of its pairs for others.

    As many as pay by what was measured one pair at a time, and as many as merging sets free. Pairs
    act together, so all are judged.
    """
    better = try_pairs(search, best, count).disjoint(search.flips, search.random)
    size = group_size(search.settings.together, int(best.num_correct[0]))
    held, worth = left_out(search, best, min(OUT, size)) if size > 1 else held_by(search, best)
    order = np.argsort(worth + 0.5 * search.random.random(len(worth)), kind="stable")
    most = min(len(better.keys), len(order))
    pays = better.gain[:most] >= worth[order[:most]]
    most = most if pays.all() else int(pays.argmin())
    rows = [
        np.append(np.delete(best.keys[0], order[:k]), better.keys[:k]) for k in SWAPS if k <= most
    ]
    if search.settings.together > 1:
        rows += rearranged(search, best, better.keys, held, worth)
    rows = [row for row in rows if len(np.unique(row)) == len(row)]
    if not rows:
        return best
    keys = np.stack(rows)
    if search.settings.constraints.keep_last_edge:
        keys = keys[~search.isolating(keys).any(1)]
    return search.evaluate(keys) if len(keys) else best


def rearranged(
    search: Evolution, best: Generation, better: Keys, held: NDArray[np.bool_], worth: Counts
) -> list[Keys]:
    """Lists in which 1, 2, 3, 5, ... pairs are merged with others, and `better` fill the places."""
    merges = merged(search, best, *single_pairs(search, held, worth))
    most = min(len(merges), len(better))
    counts = sorted({*(k for k in SWAPS if k < most), most} - {0})
    return [np.append(merges.made(best.keys[0], k), better[:k]) for k in counts]
