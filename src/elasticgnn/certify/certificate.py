"""Which nodes keep their smoothed class under every perturbation of a given size."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from elasticgnn.certify.noise import SparseNoise
from elasticgnn.certify.regions import Regions

Floats = NDArray[np.float64]
SLACK = 1e-9  # above the rounding of sums of chances


@dataclass(frozen=True, eq=False)
class Certificate:
    """The smoothed class of each node, and bounds on the chances behind it.

    label (n,): the class of most votes; lower (n,): its chance at least; upper (n,): that of any
    other class at most. All bounds of a node hold together with probability 1 - alpha. weighted:
    edges have weights other than 1, which one that is taken away and comes back by noise has lost.

    >>> from elasticgnn.certify import SparseNoise, certify
    >>> certificate = certify(np.array([[990, 10], [700, 300]]), SparseNoise())
    >>> certificate.label.tolist(), bool((certificate.lower > certificate.upper).all())
    ([0, 0], True)
    """

    noise: SparseNoise
    label: NDArray[np.int64]
    lower: Floats
    upper: Floats
    samples: int
    alpha: float
    weighted: bool = False

    def holds(self, additions: int, deletions: int) -> NDArray[np.bool_]:
        """(n,): no graph with these many flips or fewer has another smoothed class there."""
        if additions < 0 or deletions < 0:
            raise ValueError(f"radius must be >= 0, got {additions}, {deletions}")
        regions = Regions.of(self.noise, additions, deletions)
        other = np.minimum(self.upper, 1 - self.lower)
        # where a pair that was parted is joined again, nothing is known of the weight's effect
        back = 1 - (1 - self.noise.p_plus) ** deletions if self.weighted else 0.0
        return np.asarray(regions.least(self.lower) - back > regions.most(other) + back + SLACK)

    def radii(self, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) each: how many additions, and how many deletions, a class survives; -1: none.

        At most `most` are asked for; a radius counts where all smaller ones hold too.
        """
        radii = range(most + 1)
        kinds = ([self.holds(r, 0) for r in radii], [self.holds(0, r) for r in radii])
        added, removed = (np.logical_and.accumulate(held, axis=0).sum(0) - 1 for held in kinds)
        return added, removed

    def smoothed_accuracy(self, labels: NDArray[np.int64], nodes: NDArray[np.int64]) -> float:
        """Share of `nodes` that are right, certified or not."""
        return float(np.mean(self.label[nodes] == labels[nodes]))

    def accuracy(
        self, labels: NDArray[np.int64], nodes: NDArray[np.int64], additions: int, deletions: int
    ) -> float:
        """Share of `nodes` that are right and certified at this radius."""
        good = self.holds(additions, deletions) & (self.label == labels)
        return float(good[nodes].mean())


def certify(
    votes: NDArray[np.int64], noise: SparseNoise, alpha: float = 0.01, *, weighted: bool = False
) -> Certificate:
    """The certificate of votes (n, classes) by Clopper and Pearson's bounds at alpha / classes.

    Each class has one two-sided bound, so the class of most votes may be read from the same
    samples. weighted: as of `Certificate`.

    >>> from elasticgnn.certify import SparseNoise, certify
    >>> certify(np.array([[990, 10]]), SparseNoise(), alpha=0.05).label.tolist()
    [0]
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), got {alpha}")
    if votes.ndim != 2 or votes.dtype.kind not in "iu":
        raise ValueError(
            f"votes must be (n, classes) whole numbers, got {votes.shape} {votes.dtype}"
        )
    total, each = votes.sum(1), alpha / (2 * votes.shape[1])
    if bool((votes < 0).any()) or bool((total < 1).any()):
        raise ValueError("votes must be (n, classes) with at least one vote per node, got none")
    low, high = clopper_pearson(votes, total[:, None], each)
    label, row = votes.argmax(1), np.arange(len(votes))
    others = high.copy()
    others[row, label] = -np.inf
    upper = others.max(1) if votes.shape[1] > 1 else np.zeros(len(votes))
    return Certificate(noise, label, low[row, label], upper, int(total[0]), alpha, weighted)


def clopper_pearson(
    votes: NDArray[np.int64], total: NDArray[np.int64], each: float
) -> tuple[Floats, Floats]:
    """Bounds of a binomial chance, each missed with probability at most `each`."""
    low = np.where(votes > 0, beta.ppf(each, np.maximum(votes, 1), total - votes + 1), 0.0)
    missing = np.maximum(total - votes, 1)
    high = np.where(votes < total, beta.ppf(1 - each, votes + 1, missing), 1.0)
    return low, high
