"""What is kept of one training: settings, seed, split, curves, the selected epoch."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

LONGEST_CURVE = 40_000_000  # bytes: ten million epochs
CURVE_SCALE = 1000  # curves are for looking at: three digits; the selected values are kept exactly


@dataclass(frozen=True)
class RunRecord:
    """One training: accuracies are shares in 0..1 at the selected epoch (counted from 0).

    >>> from elasticgnn.experiment import RunRecord
    >>> record = RunRecord(0, 0, "", val=0.8, test=0.75, selected_epoch=3, epochs=10, seconds=1.0)
    >>> RunRecord.from_json(record.to_json()) == record
    True
    """

    run: int
    seed: int
    split: str
    val: float
    test: float
    selected_epoch: int
    epochs: int
    seconds: float
    processor_seconds: float | None = None  # of all threads; None in records that did not measure
    values: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    curves: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The record as values for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> RunRecord:
        """The record from what `to_json` gave."""
        series = {name: tuple(values) for name, values in table["series"].items()}
        return cls(**{**table, "series": series})

    def __post_init__(self) -> None:
        for name in ("run", "seed", "selected_epoch", "epochs"):
            if type(getattr(self, name)) is not int:
                raise ValueError(f"{name} must be a whole number, got {getattr(self, name)!r}")
        for name in ("val", "test"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} must be a finite number, got {getattr(self, name)!r}")

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
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(base64.b64decode(text), LONGEST_CURVE)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"curve must be packed by `pack_curve`, got: {error}") from None
    if not unpacker.eof or len(content) % 4:
        raise ValueError(f"curve must have at most {LONGEST_CURVE} bytes, got more or a part")
    raw = np.frombuffer(content, dtype=np.uint8)
    changes = np.ascontiguousarray(raw.reshape(4, -1).T).view("<i4").ravel()
    numbers = np.cumsum(changes, dtype=np.int32)  # in four bytes, as the changes were taken
    return [float(value) for value in numbers / CURVE_SCALE]
