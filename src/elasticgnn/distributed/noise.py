"""Dropout masks of one part's rows: those that the whole matrix has at these rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.distributed.folder import PartFeatures
from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import LOW_32, DropoutNoise, drop_threshold
from elasticgnn.kernels import native


@dataclass(frozen=True)
class PartNoise(DropoutNoise):
    """Masks by (seed, epoch, site, global position): a row's do not depend on who holds it."""

    part: PartFeatures | None = None

    def keep(
        self, count: int, rate: float, site: int, device: torch.device | str = "cpu"
    ) -> Tensor:
        """Which of the part's stored feature values survive (count,)."""
        assert self.part is not None
        assert isinstance(self.part.rows, SparseFeatures)
        assert self.part.first is not None
        return self._mask(self.part.first, self.part.rows.start, rate, site)

    def __call__(self, x: Tensor, rate: float, site: int) -> Tensor:
        """`x` (nodes of the part, d) with entries dropped, the others scaled by 1 / (1 - rate)."""
        if rate == 0:
            return x
        assert self.part is not None
        nodes, width = self.part.nodes, x.shape[1]
        start = torch.arange(len(nodes) + 1) * width
        keep = self._mask(nodes * width, start, rate, site).view(x.shape)
        return x * keep * (1 / (1 - rate))

    def _mask(self, first: Tensor, start: Tensor, rate: float, site: int) -> Tensor:
        """Row r's mask, from its global positions first[r], first[r] + 1, …"""
        key, threshold = self.key(site), drop_threshold(rate)
        if native is None:
            return hash_at(first, start, key) >= threshold
        keep = torch.empty(int(start[-1]), dtype=torch.bool)
        arrays = (first.contiguous().data_ptr(), start.contiguous().data_ptr(), keep.data_ptr())
        native.halo_keep_mask(key, threshold, len(first), *arrays, torch.get_num_threads())
        return keep


def hash_at(first: Tensor, start: Tensor, key: int) -> Tensor:
    """`hash_positions` of the rows' global positions, in plain torch."""
    row = torch.repeat_interleave(torch.arange(len(first)), start.diff())
    x = (torch.arange(int(start[-1])) - start[row] + first[row] + (key & LOW_32)) & LOW_32
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & LOW_32
    x = x ^ (x >> 15) ^ (key >> 32)
    x = (x * 0x846CA68B) & LOW_32
    return x ^ (x >> 16)
