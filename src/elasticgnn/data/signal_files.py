"""Signals and edges in files: tables, NPY, graphs and images, read and written."""

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data.frames import IMAGES, SEPARATORS, TABLES, read_table
from elasticgnn.data.npy import DAMAGE, read_npy
from elasticgnn.data.own.read_task import read_edges as read_own_edges
from elasticgnn.data.own.text import table_ending
from elasticgnn.extras import optional_imports
from elasticgnn.files import check_output, whole_file
from elasticgnn.graph import Graph

if TYPE_CHECKING:
    import pandas as pd

DEEP = "I;16"  # how 16 bits of gray are called
DEEP_IMAGES = (".png", ".tif", ".tiff")
MIDNIGHT = " 00:00:00"  # spreadsheets and Parquet have no days, only times
MOST_PIXELS = 25_000_000
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
    white: int = 255  # of the image: 65535 for 16 bits


def read_signal(path: Path) -> SignalFile:
    """The signal in `path`, by its ending."""
    signal = _read(path)
    node, column = np.nonzero(np.isinf(signal.values))
    if len(node):
        name = node[0] if signal.ids is None else signal.ids[node[0]]
        raise ValueError(
            f"{path} must hold finite numbers (empty: missing) in column "
            f"{signal.columns[column[0]]!r}, got {signal.values[node[0], column[0]]} at node {name}"
        )
    return signal


def _read(path: Path) -> SignalFile:
    kind = path.suffix.lower()
    if kind in IMAGES:
        return _read_image(path)
    if kind == ".npy":
        values = read_npy(path)
        if values.ndim not in (1, 2):
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


def id_text(value: Any) -> str:
    """A node id as text, so that 7, 7.0 and "7" are the same node, and a day and its midnight."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip().removesuffix(MIDNIGHT)


def read_edges(path: Path, signal: SignalFile, normalization: str) -> Graph:
    """The graph of (id, id[, weight]) rows over the signal's nodes."""
    if path.suffix.lower() == ".npy":
        rows = read_npy(path)
        if rows.ndim != 2 or rows.shape[1] not in (2, 3):
            raise ValueError(f"{path} must have shape (m, 2) or (m, 3), got {rows.shape}")
        line: Sequence[int] = range(len(rows))
        ends = rows[:, :2].tolist()
        given = rows[:, 2].astype(np.float64) if rows.shape[1] == 3 else None
    else:
        listed = read_own_edges(path).edges
        if listed is None:
            raise ValueError(f"{path} must hold edges, got none")
        ends = list(zip(listed.source.tolist(), listed.target.tolist(), strict=True))
        line, given = listed.line, listed.weight
    pairs = _matched(ends, signal, path, line)
    index = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    weight = None if given is None else torch.from_numpy(given)
    return Graph.from_edge_index(
        index, len(signal.values), weight, undirected=True, normalization=normalization
    )


def _matched(
    ends: list[Any], signal: SignalFile, path: Path, line: Sequence[int]
) -> list[tuple[int, int]]:
    """Row numbers of both ends of every edge; the first that is unknown is named."""
    ids = signal.ids or tuple(str(k) for k in range(len(signal.values)))
    place = {name: row for row, name in enumerate(ids)}
    if len(ends) > 1 and line[0] == 1 and not any(id_text(end) in place for end in ends[0]):
        ends, line = ends[1:], line[1:]  # a header of words that the signal does not know
    pairs = []
    for number, pair in enumerate(ends):
        names = [id_text(end) for end in pair]
        for name in names:
            if name not in place:
                raise ValueError(
                    f"edges must join nodes of the signal, got node {name!r} in row {line[number]} "
                    f"of {path}, which the signal does not have"
                )
        pairs.append((place[names[0]], place[names[1]]))
    return pairs


def _read_image(path: Path) -> SignalFile:
    with optional_imports():
        from PIL import Image

    try:
        with Image.open(path) as image:
            check_pixels(*image.size)
            lacking = _lacking(image)
            gray, white = image.mode in ("1", "L", DEEP), 65535 if image.mode == DEEP else 255
            plain = image if image.mode == DEEP else image.convert("L" if gray else "RGB")
            pixels = np.asarray(plain, dtype=np.float64) / white
    except (*DAMAGE, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} must be a whole image, got: {error}") from None
    if lacking is not None:
        raise ValueError(f"{path} must have {lacking}")
    height, width = pixels.shape[:2]
    values = pixels.reshape(height * width, -1)
    names = ("gray",) if gray else ("red", "green", "blue")
    return SignalFile(values, names, None, None, None, (height, width), white)


def _lacking(image: Any) -> str | None:
    """What an image must have for nothing of it to be lost, if it does not have it."""
    if image.mode in ("I", "F"):
        return f"8 or 16 bits per pixel, got mode {image.mode!r}"
    clear = image.has_transparency_data and np.asarray(image.convert("RGBA"))[..., 3].min() < 255
    return "no transparent pixels" if clear else None


def check_pixels(width: int, height: int) -> None:
    """Refuses an image before it is unpacked: every pixel will be a node."""
    if width * height > MOST_PIXELS:
        raise ValueError(f"{width} x {height} pixels, more than {MOST_PIXELS}")


def write_signal(path: Path, signal: SignalFile, value: NDArray[np.float64]) -> None:
    """The smoothed rows in the format that `path` names."""
    check_signal_output(path, signal)
    kind = _output_ending(path)
    with whole_file(path) as file:
        if kind in IMAGES:
            _write_image(file, kind, signal, value)
        elif kind == ".npy":
            buffer = BytesIO()  # numpy writing to a real file does not name it on a full disk
            np.save(buffer, value)
            file.write(buffer.getbuffer())
        elif path.suffix.lower() == ".gz":
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                _write_table(packed, kind, signal, value)
        else:
            _write_table(file, kind, signal, value)


def _output_ending(path: Path) -> str:
    """What will be written; only text is packed."""
    kind = table_ending(path)
    is_packed = path.suffix.lower() == ".gz"
    return ".gz" if is_packed and kind not in SEPARATORS else kind


def check_signal_output(path: Path, signal: SignalFile) -> None:
    """Refuses a path that `write_signal` could not write for this signal."""
    kind = _output_ending(path)
    if kind not in (*TABLES, ".npy", *IMAGES):
        endings = ", ".join((*TABLES, ".csv.gz", ".npy", *IMAGES))
        raise ValueError(f"output must end in {endings}, got {path}")
    if kind in IMAGES and signal.image_shape is None:
        raise ValueError(
            f"output must be a table or .npy for a signal that is no image, got {path}"
        )
    check_output(path)


def _write_image(file: BinaryIO, kind: str, signal: SignalFile, value: NDArray[np.float64]) -> None:
    with optional_imports():
        from PIL import Image

    assert signal.image_shape is not None  # `check_signal_output` has seen to it
    deep = signal.white > 255 and kind in DEEP_IMAGES
    white = signal.white if deep else 255
    pixels = np.clip(np.rint(value * white), 0, white).astype(np.uint16 if deep else np.uint8)
    shape = signal.image_shape if value.shape[1] == 1 else (*signal.image_shape, 3)
    Image.fromarray(pixels.reshape(shape)).save(file, Image.registered_extensions()[kind])


def _write_table(
    file: BinaryIO | gzip.GzipFile, kind: str, signal: SignalFile, value: NDArray[np.float64]
) -> None:
    with optional_imports():
        import pandas as pd

    if signal.table is None:
        table = pd.DataFrame(value, columns=list(signal.columns))
        table.insert(0, "node", np.arange(len(value)))
    else:
        table = signal.table.copy()
        for k, name in enumerate(signal.columns):
            table[name] = value[:, k]
    if kind in SEPARATORS:
        table.to_csv(file, index=False, sep=SEPARATORS[kind])
    elif kind == ".parquet":
        table.to_parquet(file, index=False)
    else:
        _write_sheet(file, table)


def _write_sheet(file: BinaryIO | gzip.GzipFile, table: "pd.DataFrame") -> None:
    """A workbook in which every text is text: a name that begins with = is no formula."""
    with optional_imports():
        import pandas as pd

    with optional_imports(), pd.ExcelWriter(file, engine="openpyxl") as book:
        table.to_excel(book, index=False, sheet_name="signal")
        for row in book.sheets["signal"].iter_rows():
            for cell in row:
                if isinstance(cell.value, str):
                    cell.data_type = "s"
