"""One generation of EvA: lists of flips, and the attacked nodes that each leaves correct."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]  # (individuals, flips): tail * n + head
Mask = NDArray[np.bool_]


@dataclass(eq=False)
class Generation:
    """Individuals, and which attacked nodes each leaves correct (individuals, nodes)."""

    keys: Keys
    correct: Mask

    @property
    def num_correct(self) -> NDArray[np.int64]:
        """Attacked nodes still correct: what evolution lowers."""
        return self.correct.sum(1)

    def with_parents(self, parents: "Generation") -> "Generation":
        """Both, this one first: of equals the children stay, so that a population drifts on."""
        keys = np.concatenate((self.keys, parents.keys))
        return Generation(keys, np.concatenate((self.correct, parents.correct)))

    def best_of(self, count: int) -> "Generation":
        """The fittest `count`; of equals the first."""
        order = np.argsort(self.num_correct, kind="stable")[:count]
        return Generation(self.keys[order], self.correct[order])
