"""Dropout whose masks are a function of (seed, epoch, site, position) and of nothing else.

Position i is dropped when a 32-bit hash of i under the key of (seed, epoch, site) falls below
rate * 2^32. No state advances, so that a run's masks do not depend on what is trained beside it,
nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from elasticgnn.kernels import native
from elasticgnn.kernels.transforms import is_transformed

LOW_32 = 0xFFFFFFFF
LOW_64 = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class DropoutNoise:
    """The masks of one forward pass; each place in a model that drops values has its own site.

    >>> from elasticgnn.features import DropoutNoise
    >>> noise = DropoutNoise(seed=1, epoch=2)
    >>> noise.epoch
    2
    """

    seed: int
    epoch: int = 0

    @classmethod
    def drawn(cls, generator: torch.Generator | None) -> DropoutNoise:
        """Noise with a seed from `generator`; None is torch's own, as for torch's layers."""
        return cls(draw_seed(generator))

    def key(self, site: int) -> int:
        """64 bits that name the stream of (seed, epoch, site)."""
        return splitmix64(splitmix64(splitmix64(self.seed & LOW_64) ^ self.epoch) ^ site)

    def keep(
        self, count: int, rate: float, site: int, device: torch.device | str = "cpu"
    ) -> Tensor:
        """Which of `count` positions survive dropout at `rate`: (count,) bool, made on `device`."""
        key, threshold = self.key(site), drop_threshold(rate)
        # torch.func's transforms hand out tensors without an address
        if native is None or torch.device(device).type != "cpu" or is_transformed():
            return hash_positions(count, key, device) >= threshold
        keep = torch.empty(count, dtype=torch.bool)
        native.keep_mask(key, threshold, count, keep.data_ptr(), torch.get_num_threads())
        return keep

    def __call__(self, x: Tensor, rate: float, site: int) -> Tensor:
        """`x` with entries dropped and the others scaled by 1 / (1 - rate)."""
        if rate == 0:
            return x
        keep = self.keep(x.numel(), rate, site, x.device).view(x.shape)
        return x * keep * (1 / (1 - rate))


@dataclass(frozen=True)
class RowNoise(DropoutNoise):
    """Masks of some rows of larger tensors: those that the larger tensors have at these rows.

    positions: for each site the position of every row's first value, and where its values lie
    here, start[r] .. start[r + 1].

    >>> from elasticgnn.features.dropout import RowNoise
    >>> second_row = torch.tensor([3]), torch.tensor([0, 3])
    >>> noise, whole = RowNoise(1, 2, {0: second_row}), DropoutNoise(1, 2)
    >>> noise.keep(3, 0.5, 0).tolist() == whole.keep(6, 0.5, 0)[3:].tolist()
    True
    """

    positions: Mapping[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    entries: tuple[Tensor, Tensor] | None = None  # the features' positions by rows and by columns

    def keep(
        self, count: int, rate: float, site: int, device: torch.device | str = "cpu"
    ) -> Tensor:
        """Which of the rows' values survive dropout at `rate` (count,)."""
        return keep_rows(*self.positions[site], self.key(site), drop_threshold(rate))


def keep_rows(first: Tensor, start: Tensor, key: int, threshold: int) -> Tensor:
    """The masks of rows whose values have the positions first[r], first[r] + 1, … elsewhere."""
    if native is None:
        return hash_at(first, start, key) >= threshold
    keep = torch.empty(int(start[-1]), dtype=torch.bool)
    arrays = (first.contiguous(), start.contiguous(), keep)
    addresses = (part.data_ptr() for part in arrays)
    native.keep_rows(key, threshold, len(first), *addresses, torch.get_num_threads())
    return keep


def hash_at(first: Tensor, start: Tensor, key: int) -> Tensor:
    """`hash_positions` of the rows' positions, in plain torch."""
    row = torch.repeat_interleave(torch.arange(len(first)), start.diff())
    return mixed_words(torch.arange(int(start[-1])) - start[row] + first[row], key)


class TorchNoise(DropoutNoise):
    """Masks of torch's own generator: inside vmap, where every member may draw its own, and inside
    torch.compile, which knows no seed.

    >>> from elasticgnn.features.dropout import TorchNoise
    >>> TorchNoise().keep(3, 0.0, site=0).tolist()
    [True, True, True]
    """

    def __init__(self) -> None:
        super().__init__(seed=0)

    def keep(
        self, count: int, rate: float, site: int, device: torch.device | str = "cpu"
    ) -> Tensor:
        """Which of `count` positions survive: drawn anew at every call."""
        return torch.rand(count, device=device) >= rate


def draw_seed(generator: torch.Generator | None) -> int:
    """A non-negative 63-bit seed.

    >>> from elasticgnn.features import draw_seed
    >>> draw_seed(torch.Generator().manual_seed(3)) == draw_seed(torch.Generator().manual_seed(3))
    True
    """
    return int(torch.randint(2**63 - 1, (), generator=generator))


def drop_threshold(rate: float) -> int:
    """Hashes below this number are dropped: rate of all 32-bit numbers."""
    if not 0 <= rate < 1:
        raise ValueError(f"dropout must be in [0, 1), got {rate}")
    return int(rate * 2**32)


def splitmix64(x: int) -> int:
    """One output of the splitmix64 generator (Steele, Lea, Flood 2014) from state `x`."""
    x = (x + 0x9E3779B97F4A7C15) & LOW_64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & LOW_64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & LOW_64
    return x ^ (x >> 31)


def hash_positions(count: int, key: int, device: torch.device | str = "cpu") -> Tensor:
    """A well-mixed 32-bit number for each of 0 .. count - 1, as int64.

    The two multiplications are those of Wellons' lowbias32; half of the key enters before each.
    """
    return mixed_words(torch.arange(count, device=device), key)


def mixed_words(position: Tensor, key: int) -> Tensor:
    """The hash of each position under the key."""
    x = (position + (key & LOW_32)) & LOW_32
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & LOW_32
    x = x ^ (x >> 15) ^ (key >> 32)
    x = (x * 0x846CA68B) & LOW_32  # wraps in 64 bits, which leaves the low 32 as they are
    return x ^ (x >> 16)
