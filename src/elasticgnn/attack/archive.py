"""What an evolutionary attack remembers: pairs that hit something when they were tried alone."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]  # tail * n + head
Counts = NDArray[np.int64]
MOST = 8000  # pairs remembered


def no_keys() -> Keys:
    """An empty list of pairs."""
    return np.zeros(0, np.int64)


@dataclass(eq=False)
class Archive:
    """Pairs (k,) and how many nodes each hit when it was tried last, at least one."""

    keys: Keys = field(default_factory=no_keys)
    gain: Counts = field(default_factory=no_keys)

    def __len__(self) -> int:
        return len(self.keys)

    def update(self, keys: Keys, gain: Counts) -> None:
        """Takes over what was tried just now; what hits nothing any more is forgotten."""
        stays = ~np.isin(self.keys, keys)
        keys = np.concatenate((keys[gain > 0], self.keys[stays]))
        gain = np.concatenate((gain[gain > 0], self.gain[stays]))
        order = np.argsort(-gain, kind="stable")[:MOST]
        self.keys, self.gain = keys[order], gain[order]

    def recall(self, count: int, random: np.random.Generator, power: float = 3.0) -> Keys:
        """`count` of the pairs, repeated or not, in proportion to a power of what they hit."""
        chance = np.cumsum(self.gain.astype(float) ** power)
        place = np.searchsorted(chance, random.random(count) * chance[-1], side="right")
        return self.keys[np.minimum(place, len(self.keys) - 1)]

    def recombine(self, count: int, random: np.random.Generator, num_nodes: int) -> Keys:
        """At most `count` new pairs with one end from one pair and one from another."""
        one, other = (self.end(count, random, num_nodes) for _ in range(2))
        low, high = np.minimum(one, other), np.maximum(one, other)
        return (low * np.int64(num_nodes) + high)[low < high]

    def end(self, count: int, random: np.random.Generator, num_nodes: int) -> Keys:
        """One end each of pairs drawn by the square of what they hit."""
        ends = np.stack(np.divmod(self.recall(count, random, 2.0), num_nodes))
        return np.where(random.random(count) < 0.5, ends[0], ends[1])
