"""Many pairs tried on one graph: which node fell, and next to whose ends, tells what each is worth.

A model's predictions on a flipped graph tell of every node at once, and a pair changes little
beyond its ends and their neighbours: so pairs far from each other share a graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from elasticgnn.attack.evolution import Evolution
    from elasticgnn.attack.generation import Generation

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]
ROOM = 32  # correct nodes that each pair of a graph has on average, lest effects run together


def group_size(together: int, num_correct: int) -> int:
    """Pairs that share a graph: `together`, fewer where few nodes are left to fall."""
    return max(1, min(together, num_correct // ROOM))


def promising(search: Evolution, best: Generation, keys: Keys, size: int, most: int) -> Keys:
    """At most `most` of the pairs: those that hit most when `size` at a time share a graph.

    A node that falls is put down to the pairs at it, or else to those at its neighbours; one that
    becomes correct counts against them. An estimate: whoever needs the number tries them alone.
    """
    keys = search.random.permutation(keys)[: len(keys) // size * size]
    groups = keys.reshape(-1, size)
    if not len(groups):
        return keys
    after = search.evaluate(np.concatenate((np.repeat(best.keys, len(groups), 0), groups), 1))
    worth = np.zeros(len(keys), np.int64)
    for changed, sign in ((best.correct & ~after.correct, 1), (~best.correct & after.correct, -1)):
        group, place = np.nonzero(changed)
        worth += sign * credit(search, best.keys[0], groups, group, search.nodes[place])
    chosen = np.flatnonzero(worth > 0)
    order = np.argsort(-(worth[chosen] + search.random.random(len(chosen))))
    return keys[chosen[order[:most]]]


def credit(
    search: Evolution, flipped: Keys, groups: Keys, group: Counts, node: Counts
) -> NDArray[np.int64]:
    """(pairs,): nodes put down to each pair of `groups`; node[k] changed on graph group[k]."""
    size = np.int64(search.num_nodes)
    pair = np.arange(groups.size)
    ends = np.concatenate(np.divmod(groups.ravel(), size))
    where = np.tile(pair // groups.shape[1], 2) * size + ends
    order = np.argsort(where, kind="stable")
    where, owner = where[order], np.tile(pair, 2)[order]

    def owners(group: Counts, node: Counts) -> NDArray[np.int64]:
        """A pair with an end at each node of its graph, -1 where there is none."""
        code = group * size + node
        place = np.minimum(np.searchsorted(where, code), len(where) - 1)
        return np.where(where[place] == code, owner[place], -1)

    direct = owners(group, node)
    far = direct < 0
    near_group, near_node = beside(search, flipped, group[far], node[far])
    found = np.concatenate((direct, owners(near_group, near_node)))
    return np.bincount(found[found >= 0], minlength=groups.size)


def beside(search: Evolution, flipped: Keys, group: Counts, node: Counts) -> tuple[Counts, Counts]:
    """The neighbours of each node once `flipped` are, with the group repeated for each."""
    size = search.num_nodes
    tail, head = np.divmod(np.setxor1d(search.edges, flipped), size)
    source, target = np.concatenate((tail, head)), np.concatenate((head, tail))
    target = target[np.argsort(source, kind="stable")]
    count = np.bincount(source, minlength=size)
    first = np.cumsum(count) - count
    repeats = count[node]
    offset = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return np.repeat(group, repeats), target[np.repeat(first[node], repeats) + offset]
