"""How far a flip of additions and deletions can move the noisy vote (Bojchevski et al. 2020).

Two graphs that differ in `additions` pairs joined and `deletions` pairs parted give a noisy graph
likelihoods whose ratio depends on q alone: at how many of these pairs it differs from the first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from elasticgnn.certify.noise import SparseNoise

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regions:
    """Chances of q = 0, 1, ... under the graph's own noise and under the perturbed graph's.

    The ratio own / perturbed falls with q, since p_plus + p_minus <= 1.
    """

    own: Floats
    perturbed: Floats

    @classmethod
    def of(cls, noise: SparseNoise, additions: int, deletions: int) -> "Regions":
        """The regions for a budget of so many added and deleted edges."""
        plus, minus = noise.p_plus, noise.p_minus
        own = np.convolve(binomial(additions, plus), binomial(deletions, minus))
        perturbed = np.convolve(binomial(additions, 1 - minus), binomial(deletions, 1 - plus))
        return cls(own, perturbed)

    def least(self, chance: Floats) -> Floats:
        """The smallest chance under the perturbed graph of anything that has `chance` here.

        By Neyman and Pearson it is gathered where the graph's own noise is likeliest: small q.
        """
        return spend(self.own, self.perturbed, chance)

    def most(self, chance: Floats) -> Floats:
        """The largest chance under the perturbed graph: gathered from large q down."""
        # what is not gathered is the least that the rest can have
        return 1 - spend(self.own, self.perturbed, 1 - chance)


def binomial(count: int, chance: float) -> Floats:
    """The chances of 0 .. count."""
    return np.asarray(binom.pmf(np.arange(count + 1), count, chance))


def spend(own: Floats, perturbed: Floats, chance: Floats) -> Floats:
    """sum of perturbed over the first regions whose `own` chances add up to `chance`."""
    used = np.concatenate(([0.0], np.cumsum(own)))
    # regions that the graph's own noise never reaches need not be part of anything
    got = np.concatenate(([0.0], np.cumsum(np.where(own > 0, perturbed, 0.0))))
    keep = np.concatenate(([True], np.diff(used) > 0))
    return np.interp(np.clip(chance, 0, used[-1]), used[keep], got[keep])
