"""Many pairs tried on one graph: which node fell, and next to whose ends, tells what each is worth.

A model's predictions on a flipped graph tell of every node at once, and a pair changes little
beyond its ends and their neighbours: so pairs far from each other share a graph.
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
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
ROOM = 32  # correct nodes that each pair of a graph has on average, lest effects run together


def group_size(together: int, num_correct: int) -> int:
    """Pairs that share a graph: `together`, fewer where few nodes are left to fall."""
    return max(1, min(together, num_correct // ROOM))


def promising(search: Evolution, best: Generation, keys: Keys, size: int, most: int) -> Keys:
    """At most `most` of the pairs: those that hit most when `size` at a time share a graph."""
    keys = search.random.permutation(keys)[: len(keys) // size * size]
    if not len(keys):
        return keys
    worth = put_on(search, best, keys, size).worth
    chosen = np.flatnonzero(worth > 0)
    order = np.argsort(-(worth[chosen] + search.random.random(len(chosen))))
    return keys[chosen[order[:most]]]


def added(search: Evolution, best: Generation, keys: Keys, size: int) -> tuple[Counts, Mask]:
    """What each of the pairs hits (net), and which nodes, when `size` at a time share a graph."""
    found = put_on(search, best, keys, size)
    return found.worth, found.nodes(len(search.nodes))


def put_on(search: Evolution, best: Generation, keys: Keys, size: int) -> Effects:
    """What the pairs do on top of `best`."""
    groups = grouped(np.arange(len(keys)), size)
    rows = np.repeat(best.keys, len(groups), 0)
    after = search.evaluate(np.concatenate((rows, keys[groups]), 1)).correct
    fell, rose = best.correct & ~after, ~best.correct & after
    return put_down(search, best, keys, groups, fell, rose)


def left_out(search: Evolution, best: Generation, size: int) -> tuple[Mask, Counts]:
    """Who becomes correct without each pair of `best`, and how many (net): `size` at a time."""
    count = best.keys.shape[1]
    groups = grouped(search.random.permutation(count), size)
    stays = np.ones((len(groups), count), bool)
    np.put_along_axis(stays, groups, False, 1)
    rest = np.tile(best.keys[0], (len(groups), 1))[stays].reshape(len(groups), -1)
    after = search.evaluate(rest).correct
    fell, rose = best.correct & ~after, ~best.correct & after
    found = put_down(search, best, best.keys[0], groups, rose, fell)
    return found.nodes(len(search.nodes)), found.worth


def grouped(order: Counts, size: int) -> Counts:
    """Rows of `size` numbers, the last one filled up with the first numbers."""
    size = min(size, len(order))
    rows = -(-len(order) // size)
    return np.resize(order, (rows, size))


@dataclass(frozen=True, eq=False)
class Effects:
    """worth (pairs,): nodes won less nodes lost; pair[k] won the attacked node at place[k]."""

    worth: Counts
    pair: Counts
    place: Counts

    def nodes(self, count: int) -> Mask:
        """(pairs, count): which nodes each pair won."""
        won = np.zeros((len(self.worth), count), bool)
        won[self.pair, self.place] = True
        return won


def put_down(
    search: Evolution, best: Generation, keys: Keys, groups: Counts, won: Mask, lost: Mask
) -> Effects:
    """Nodes won and lost (graphs, nodes), put down to the pairs of their graph.

    To those at the node, or else to those at its neighbours: an estimate, where effects run
    together. Pairs that fill up the last graph do not count there.
    """
    worth, of_sign = np.zeros(len(keys), np.int64), list[tuple[Counts, Counts]]()
    for changed, sign in ((won, 1), (lost, -1)):
        group, place = np.nonzero(changed)
        pair, change = owners(search, best.keys[0], keys[groups], group, search.nodes[place])
        counts = pair < len(keys)
        pair, place = groups.ravel()[pair[counts]], place[change[counts]]
        worth += sign * np.bincount(pair, minlength=len(keys))
        of_sign.append((pair, place))
    return Effects(worth, *of_sign[0])


def owners(
    search: Evolution, flipped: Keys, rows: Keys, group: Counts, node: Counts
) -> tuple[Counts, Counts]:
    """Places of pairs in `rows`, and k: a pair that node[k], changed on graph group[k], is at."""
    size = np.int64(search.num_nodes)
    pair = np.arange(rows.size)
    ends = np.concatenate(np.divmod(rows.ravel(), size))
    where = np.tile(pair // rows.shape[1], 2) * size + ends
    order = np.argsort(where, kind="stable")
    where, owner = where[order], np.tile(pair, 2)[order]

    def at(group: Counts, node: Counts) -> Counts:
        """A pair with an end at each node of its graph, -1 where there is none."""
        code = group * size + node
        place = np.minimum(np.searchsorted(where, code), len(where) - 1)
        return np.where(where[place] == code, owner[place], -1)

    direct, change = at(group, node), np.arange(len(node))
    far = direct < 0
    near_group, near_node, near_change = beside(search, flipped, group[far], node[far], change[far])
    found = np.concatenate((direct, at(near_group, near_node)))
    change = np.concatenate((change, near_change))
    return found[found >= 0], change[found >= 0]


def beside(
    search: Evolution, flipped: Keys, group: Counts, node: Counts, change: Counts
) -> tuple[Counts, Counts, Counts]:
    """The neighbours of each node once `flipped` are, with group and change repeated for each."""
    size = search.num_nodes
    tail, head = np.divmod(np.setxor1d(search.edges, flipped), size)
    source, target = np.concatenate((tail, head)), np.concatenate((head, tail))
    target = target[np.argsort(source, kind="stable")]
    count = np.bincount(source, minlength=size)
    first = np.cumsum(count) - count
    repeats = count[node]
    offset = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    near = target[np.repeat(first[node], repeats) + offset]
    return np.repeat(group, repeats), near, np.repeat(change, repeats)
