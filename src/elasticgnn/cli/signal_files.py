"""Signals and edges in files: CSV, Parquet, NPY and images, read and written."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.graph import Graph

if TYPE_CHECKING:
    import pandas as pd

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
TABLES = (".csv", ".parquet")
COORDINATES = (("x", "y"), ("lon", "lat"), ("longitude", "latitude"))


@dataclass(frozen=True)
class SignalFile:
    """A signal as read: what is smoothed, and what goes back into the output beside it."""

    values: NDArray[np.float64]  # (n, d), NaN where missing
    columns: tuple[str, ...]
    ids: tuple[str, ...] | None  # as written in the file; None: the row number
    positions: NDArray[np.float64] | None  # (n, 2)
    table: Any  # the pandas frame it came from, if any
    image_shape: tuple[int, int] | None = None

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Nodes with a channel that is not there."""
        return np.asarray(np.isnan(self.values).any(1))


def read_signal(path: Path) -> SignalFile:
    """The signal in `path`, by its ending."""
    kind = path.suffix.lower()
    if kind in IMAGES:
        return _read_image(path)
    if kind == ".npy":
        values = np.load(path, allow_pickle=False)
        if values.ndim not in (1, 2) or not np.issubdtype(values.dtype, np.number):
            raise ValueError(f"{path} must hold numbers (n,) or (n, d), got shape {values.shape}")
        values = values.astype(np.float64).reshape(len(values), -1)
        names = tuple(f"value{k}" for k in range(values.shape[1]))
        return SignalFile(values, names, None, None, None)
    return _read_table_signal(path)


def _read_table_signal(path: Path) -> SignalFile:
    table = read_table(path)
    if table.shape[1] < 2:
        raise ValueError(f"{path} must have a column of node ids and one of values, got one column")
    names = [str(name) for name in table.columns]
    pair = next((p for p in COORDINATES if set(p) <= set(names[1:])), None)
    signal = [name for name in names[1:] if pair is None or name not in pair]
    if not signal:
        raise ValueError(f"{path} must have a column of values besides its ids and coordinates")
    for name in signal:
        if table[name].dtype.kind not in "fiub":
            raise ValueError(f"{path} must hold numbers in column {name!r}, got text")
    ids = tuple(id_text(value) for value in table.iloc[:, 0])
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise ValueError(f"{path} must name every node once, got {twice[0]!r} twice")
    values = table[signal].to_numpy(dtype=np.float64)
    positions = None if pair is None else table[list(pair)].to_numpy(dtype=np.float64)
    return SignalFile(values, tuple(signal), ids, positions, table)


def read_table(path: Path) -> "pd.DataFrame":
    """The pandas frame in a CSV or Parquet file."""
    import pandas as pd

    kind = path.suffix.lower()
    if kind not in TABLES:
        raise ValueError(f"file must end in {', '.join((*TABLES, '.npy', *IMAGES))}, got {path}")
    try:
        table: pd.DataFrame = pd.read_csv(path) if kind == ".csv" else pd.read_parquet(path)
    except pd.errors.ParserError as error:
        raise ValueError(f"{path} is not a readable table: {error}") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} must have a header and rows, got an empty file") from None
    return table


def id_text(value: Any) -> str:
    """A node id as text, so that 7, 7.0 and "7" are the same node."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def read_edges(path: Path, signal: SignalFile, normalization: str) -> Graph:
    """The graph of (id, id[, weight]) rows over the signal's nodes."""
    if path.suffix.lower() == ".npy":
        rows = np.load(path, allow_pickle=False)
        if rows.ndim != 2 or rows.shape[1] not in (2, 3):
            raise ValueError(f"{path} must have shape (m, 2) or (m, 3), got {rows.shape}")
        ends, extra = rows[:, :2].tolist(), rows[:, 2:]
    else:
        table = read_table(path)
        if table.shape[1] < 2:
            raise ValueError(f"{path} must have two columns of node ids, got {table.shape[1]}")
        ends = list(zip(table.iloc[:, 0], table.iloc[:, 1], strict=True))
        extra = table.iloc[:, 2:3].to_numpy()
    index = torch.tensor(_matched(ends, signal, path), dtype=torch.int64).reshape(-1, 2).T
    weight = None
    if extra.shape[1]:
        weight = torch.tensor(np.asarray(extra[:, 0], dtype=np.float64))
    return Graph.from_edge_index(
        index, len(signal.values), weight, undirected=True, normalization=normalization
    )


def _matched(ends: list[Any], signal: SignalFile, path: Path) -> list[tuple[int, int]]:
    """Row numbers of both ends of every edge; the first that is unknown is named."""
    ids = signal.ids or tuple(str(k) for k in range(len(signal.values)))
    place = {name: row for row, name in enumerate(ids)}
    pairs = []
    for line, pair in enumerate(ends):
        names = [id_text(end) for end in pair]
        for name in names:
            if name not in place:
                raise ValueError(
                    f"edges must join nodes of the signal, got node {name!r} in row {line + 1} "
                    f"of {path}, which the signal does not have"
                )
        pairs.append((place[names[0]], place[names[1]]))
    return pairs


def _read_image(path: Path) -> SignalFile:
    from PIL import Image

    with Image.open(path) as image:
        gray = image.mode in ("1", "L", "I", "I;16", "F")
        pixels = np.asarray(image.convert("L" if gray else "RGB"), dtype=np.float64) / 255
    height, width = pixels.shape[:2]
    values = pixels.reshape(height * width, -1)
    names = ("gray",) if gray else ("red", "green", "blue")
    return SignalFile(values, names, None, None, None, (height, width))


def write_signal(path: Path, signal: SignalFile, value: NDArray[np.float64]) -> None:
    """The smoothed rows in the format that `path` names."""
    kind = path.suffix.lower()
    if kind in IMAGES:
        _write_image(path, signal, value)
    elif kind == ".npy":
        np.save(path, value)
    elif kind in TABLES:
        _write_table(path, signal, value)
    else:
        raise ValueError(f"output must end in {', '.join((*TABLES, '.npy', *IMAGES))}, got {path}")


def _write_image(path: Path, signal: SignalFile, value: NDArray[np.float64]) -> None:
    from PIL import Image

    if signal.image_shape is None:
        raise ValueError(
            f"output must be a table or .npy for a signal that is no image, got {path}"
        )
    pixels = np.clip(np.rint(value * 255), 0, 255).astype(np.uint8)
    shape = signal.image_shape if value.shape[1] == 1 else (*signal.image_shape, 3)
    Image.fromarray(pixels.reshape(shape)).save(path)


def _write_table(path: Path, signal: SignalFile, value: NDArray[np.float64]) -> None:
    import pandas as pd

    if signal.table is None:
        table = pd.DataFrame(value, columns=list(signal.columns))
        table.insert(0, "node", np.arange(len(value)))
    else:
        table = signal.table.copy()
        for k, name in enumerate(signal.columns):
            table[name] = value[:, k]
    if path.suffix.lower() == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False)
