"""What is kept of one training: settings, seed, split, curves, the selected epoch."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

CURVE_SCALE = 1000  # curves are for looking at: three digits; the selected values are kept exactly


@dataclass(frozen=True)
class RunRecord:
    """One training: accuracies are shares in 0..1 at the selected epoch (counted from 0)."""

    run: int
    seed: int
    split: str
    val: float
    test: float
    selected_epoch: int
    epochs: int
    seconds: float
    values: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    curves: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> RunRecord:
        series = {name: tuple(values) for name, values in table["series"].items()}
        return cls(**{**table, "series": series})

    def metric(self, name: str) -> float:
        """The number a table shows: accuracy in percent, or a measured value."""
        return 100 * self.test if name == "accuracy" else self.values[name]

    def curve(self, name: str) -> list[float]:
        """The stored curve `name`: "loss", "val" or "test", one value per epoch."""
        return unpack_curve(self.curves[name])


def pack_curve(values: Sequence[float]) -> str:
    """Base64 of compressed differences; values are rounded to three digits, nan becomes -1."""
    numbers = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-1.0)
    scaled = np.clip(np.rint(numbers * CURVE_SCALE), -(2**31), 2**31 - 1).astype("<i4")
    changes = np.diff(scaled, prepend=np.int32(0)).astype("<i4")
    by_byte = changes.view(np.uint8).reshape(-1, 4).T  # the high bytes are nearly all equal
    return base64.b64encode(zlib.compress(by_byte.tobytes(), 9)).decode("ascii")


def unpack_curve(text: str) -> list[float]:
    """The values of `pack_curve`, to three digits."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    changes = np.ascontiguousarray(raw.reshape(4, -1).T).view("<i4").ravel()
    return [float(value) for value in np.cumsum(changes) / CURVE_SCALE]
