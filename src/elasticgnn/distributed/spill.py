"""Rows of numbers laid aside in files until all of a bucket's rows are there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"key": np.int64, "count": np.int32}


@dataclass(frozen=True)
class Spill:
    """`count` buckets in `folder`; a bucket has a file for each of its columns."""

    folder: Path
    name: str
    count: int

    def _file(self, bucket: int, column: str) -> Path:
        return self.folder / f"{self.name}-{bucket:05d}.{column}"

    def add(self, bucket: NDArray[Any], **columns: NDArray[Any]) -> None:
        """Appends row k of the columns to bucket[k], rows of a bucket in their order."""
        order = np.argsort(bucket.astype(np.int32), kind="stable")
        bounds = np.searchsorted(bucket[order], np.arange(self.count + 1))
        for name, column in columns.items():
            rows = column[order]
            for number in np.flatnonzero(np.diff(bounds)).tolist():
                with self._file(number, name).open("ab") as file:
                    file.write(rows[bounds[number] : bounds[number + 1]].data)

    def write(self, bucket: int, **columns: NDArray[Any]) -> None:
        """All rows of a bucket."""
        for name, column in columns.items():
            self._file(bucket, name).write_bytes(column.data)

    def read(self, bucket: int, column: str) -> NDArray[Any]:
        """A column of a bucket; empty where nothing was added."""
        path = self._file(bucket, column)
        if not path.exists():
            return np.empty(0, dtype=TYPES[column])
        return np.fromfile(path, dtype=TYPES[column])

    def remove(self, bucket: int, column: str) -> None:
        """Deletes a column of a bucket."""
        self._file(bucket, column).unlink(missing_ok=True)
