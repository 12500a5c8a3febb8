"""The pairs whose flip raises the attack loss most, found block by block."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.meta.gradient import Array, PairGradient

BLOCK_ENTRIES = 1 << 21  # scores looked at together: 8 MB in single precision


@dataclass(frozen=True)
class Candidates:
    """Allowed pairs, best first."""

    pairs: NDArray[np.int64]  # (k, 2), tail < head
    score: Array  # (k,) first-order gain of the flip


def best_flips(gradient: PairGradient, state: Flippable, count: int) -> Candidates:
    """The `count` best single flips: derivative times +1 (insert) or -1 (remove)."""
    size = state.num_nodes
    height = max(1, BLOCK_ENTRIES // size)
    found = [
        best_in_rows(gradient, state, (start, min(start + height, size)), count)
        for start in range(0, size, height)
    ]
    pairs = np.concatenate([part.pairs for part in found])
    score = np.concatenate([part.score for part in found])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -score))[:count]
    return Candidates(pairs[order], score[order])


def best_in_rows(
    gradient: PairGradient, state: Flippable, span: tuple[int, int], count: int
) -> Candidates:
    """The same among pairs whose tail lies in `span`."""
    start, stop = span
    score = gradient.rows(start, stop)
    rule_out(score, state, span)
    flat = torch.from_numpy(score).flatten()
    if count == 1:  # a plain maximum is several times faster
        value, place = (part[None] for part in flat.max(0))
    else:
        value, place = flat.topk(min(count, flat.numel()))
    kept = value > -torch.inf
    row, column = np.divmod(place[kept].numpy(), score.shape[1])
    return Candidates(np.stack((row, column), axis=1) + start, value[kept].numpy())


def rule_out(score: Array, state: Flippable, span: tuple[int, int]) -> None:
    """Turns derivatives (rows `span`, columns from its start on) into scores; forbidden: -inf."""
    start, stop = span
    edges = state.keys[np.searchsorted(state.keys, start * state.num_nodes) :]
    edges = edges[: np.searchsorted(edges, stop * state.num_nodes)]
    tail, head = np.divmod(edges, state.num_nodes)
    removal = -score[tail - start, head - start]
    removal[~may_remove(state, tail, head)] = -np.inf
    if state.test is not None:
        mask_insertions(score, state, span)
    score[tail - start, head - start] = removal
    for row in range(stop - start):
        score[row, : row + 1] = -np.inf
    for one, other in state.flipped:
        if start <= one < stop:
            score[one - start, other - start] = -np.inf


def may_remove(
    state: Flippable, tail: NDArray[np.int64], head: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(k,) which of these edges may go."""
    allowed = np.ones(tail.size, bool)
    if state.constraints.keep_last_edge:
        allowed &= np.minimum(state.degree[tail], state.degree[head]) > 1
    if state.test is not None and tail.size:
        kinds = np.unique(state.degree)
        table = state.test.allows(state.degree, kinds, kinds, -1)
        one, other = np.searchsorted(kinds, state.degree[np.stack((tail, head))])
        allowed &= table[one, other]
    return allowed


def mask_insertions(score: Array, state: Flippable, span: tuple[int, int]) -> None:
    """-inf where the degree test refuses a new edge: it depends on the two degrees alone."""
    assert state.test is not None
    kinds, kind = np.unique(state.degree, return_inverse=True)
    table = state.test.allows(state.degree, kinds, kinds, 1)
    start, stop = span
    score[~table[np.ix_(kind[start:stop], kind[start:])]] = -np.inf
