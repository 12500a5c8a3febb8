"""Dropout masks of one part's rows: those that the whole matrix has at these rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.distributed.folder import PartFeatures
from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise, drop_threshold, keep_rows


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
        return keep_rows(
            self.part.first, self.part.rows.start, self.key(site), drop_threshold(rate)
        )

    def __call__(self, x: Tensor, rate: float, site: int) -> Tensor:
        """`x` (nodes of the part, d) with entries dropped, the others scaled by 1 / (1 - rate)."""
        if rate == 0:
            return x
        assert self.part is not None
        nodes, width = self.part.nodes, x.shape[1]
        start = torch.arange(len(nodes) + 1) * width
        keep = keep_rows(nodes * width, start, self.key(site), drop_threshold(rate))
        return x * keep.view(x.shape) * (1 / (1 - rate))
