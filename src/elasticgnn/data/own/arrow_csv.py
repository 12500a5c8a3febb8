"""Large plain CSV files through pyarrow: typed columns without lists of text.

Whatever is out of the ordinary makes these functions return None: then the careful reader of
`table.py` reads the file, or says in which row it cannot be read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data.own.table import MISSING, is_number
from elasticgnn.data.own.text import (
    BOM_UTF8,
    DELIMITERS,
    EXCEL_SIGN,
    find_delimiter,
    read_bytes,
    table_ending,
)
from elasticgnn.extras import optional_imports

if TYPE_CHECKING:
    import pyarrow

LARGE_FILE = 300_000  # bytes from which on loading pyarrow pays
# point, slash and the digits follow each other; bytes below wrap around, so that one test does
POINT, ZERO, NINE = (np.uint8(ord(sign)) for sign in ".09")
FEW_COLUMNS, MANY_COLUMNS = 1 << 20, 1 << 22  # bytes that pyarrow gives to a thread at a time
BLOCK = 1 << 17  # bytes looked at together
NEWLINE = np.uint8(ord("\n"))
# pyarrow takes 0x10 for the number 16; longer ones, such as addresses of wallets, for text
HEXADECIMAL = re.compile(rb"(?<![0-9A-Za-z.])0[xX][0-9a-fA-F]{1,16}(?![0-9A-Za-z])")


@dataclass(frozen=True)
class PlainFile:
    """The bytes of a table file, its delimiter, and its first row, which stands in `line`.

    begins: that row's place among the bytes.
    """

    path: Path
    content: bytes
    delimiter: str
    first: list[str]
    line: int
    begins: int
    rows: int

    def table(
        self,
        *,
        has_header: bool,
        texts: Sequence[str] = (),
        coded: Sequence[str] = (),
        has_holes: bool = False,
    ) -> pyarrow.Table | None:
        """The columns as pyarrow understands them, `texts` as text, `coded` as numbered words.

        has_holes: whether cells such as NA are missing values; else they are words like others,
        which makes a column of numbers one of text.
        """
        with optional_imports():
            from pyarrow import ArrowException, BufferReader
            from pyarrow import csv as arrow

        names = self.first if has_header else [str(k) for k in range(len(self.first))]
        if len(set(names)) != len(names) or any(name != name.strip() for name in names):
            return None
        try:
            table = arrow.read_csv(
                BufferReader(self.content),
                arrow.ReadOptions(
                    skip_rows=self.line - 1 + has_header,
                    column_names=names,
                    block_size=FEW_COLUMNS if len(names) < 8 else MANY_COLUMNS,
                ),
                arrow.ParseOptions(delimiter=self.delimiter, newlines_in_values=False),
                conversion(texts, coded, has_holes=has_holes),
            )
        except (ArrowException, OSError):
            return None
        if table.num_rows != self.rows - has_header or table.num_rows == 0:
            return None
        return None if has_header and self.repeats_header(table) else table

    def repeats_header(self, table: pyarrow.Table) -> bool:
        """Whether the header stands again further down, as in files put one behind the other.

        Not if one of its words stands above numbers alone, which spares a search of the bytes.
        """
        with optional_imports():
            from pyarrow import types

        for name, column in zip(self.first, table.columns, strict=True):
            is_word = not is_number(name) and name.lower() not in MISSING
            if is_word and (types.is_integer(column.type) or types.is_floating(column.type)):
                return False
        end = self.content.find(b"\n", self.begins)
        return self.content.find(b"\n" + self.content[self.begins : end], end) >= 0

    def has_leading_zeros(self) -> bool:
        """Whether a number such as 007 occurs, which is another id than 7."""
        signs = np.frombuffer(self.content, dtype=np.uint8)
        at_once = self.content[:1] == b"0" and self.content[1:2].isdigit()
        return at_once or any(map(begins_with_zero, blocks(signs, 2)))


def blocks(signs: NDArray[np.uint8], overlap: int = 0) -> Iterator[NDArray[np.uint8]]:
    """The signs in parts that stay in the cache, each with the first ones of the next."""
    return (signs[start : start + BLOCK + overlap] for start in range(0, len(signs), BLOCK))


def begins_with_zero(signs: NDArray[np.uint8]) -> bool:
    """Whether a zero stands behind a sign of no number and before a digit."""
    zeros = (signs[:-2] - POINT > NINE - POINT) & (signs[1:-1] == ZERO)
    return bool((zeros & (signs[2:] - ZERO <= NINE - ZERO)).any())


def open_plain(path: Path, *, smallest: int = LARGE_FILE) -> PlainFile | None:
    """A file of at least `smallest` bytes that pyarrow may read as it stands; else None."""
    ending = table_ending(path)
    if ending not in DELIMITERS or path.stat().st_size < smallest or not has_pyarrow():
        return None
    content = read_bytes(path)
    if content.startswith(BOM_UTF8):
        content = content[3:]
    line, start = first_row(content, comments=ending == ".txt")
    end = content.find(b"\n", start)
    try:
        text = content[start : end if end >= 0 else None].decode("utf-8").strip("\r\n")
    except UnicodeDecodeError:
        return None
    usual = DELIMITERS[ending]
    delimiter = " " if ending == ".txt" and usual not in text else find_delimiter(text, usual)
    strange = b"\0" in content[:4096] or EXCEL_SIGN.fullmatch(text) or text.count('"') % 2
    if strange or delimiter == ";" or not text.strip() or has_hexadecimal(content, end):
        return None
    first = [cell.strip() for cell in next(csv.reader(io.StringIO(text), delimiter=delimiter))]
    signs = np.frombuffer(content, dtype=np.uint8)
    ends = sum(int(np.count_nonzero(part == NEWLINE)) for part in blocks(signs))
    rows = ends + (not content.endswith(b"\n")) - (line - 1)
    return PlainFile(path, content, delimiter, first, line, start, rows) if len(first) > 1 else None


def has_hexadecimal(content: bytes, end: int) -> bool:
    """Whether a cell such as 0x10 occurs, which is a word here.

    end: of the first row, behind which files of numbers have no letter x: that is seen at once.
    """
    end = end if end >= 0 else len(content)
    if HEXADECIMAL.search(content, 0, end):
        return True
    occurs = content.find(b"x", end) >= 0 or content.find(b"X", end) >= 0
    return occurs and HEXADECIMAL.search(content, end) is not None


def first_row(content: bytes, *, comments: bool) -> tuple[int, int]:
    """Number and place of the first row that is no comment."""
    line, start = 1, 0
    while comments and content[start : start + 1] == b"#":
        line, start = line + 1, content.find(b"\n", start) + 1
        if start == 0:
            return line, len(content)
    return line, start


def conversion(
    texts: Sequence[str], coded: Sequence[str], *, has_holes: bool
) -> pyarrow.csv.ConvertOptions:
    """How cells become values; see `PlainFile.table`."""
    with optional_imports():
        from pyarrow import csv as arrow
        from pyarrow import dictionary, int32, string

    forms = {form for word in MISSING for form in (word, word.upper(), word.title(), "NaN")}
    return arrow.ConvertOptions(
        null_values=sorted(forms) if has_holes else [],
        strings_can_be_null=has_holes,
        column_types={
            **dict.fromkeys(texts, string()),
            **dict.fromkeys(coded, dictionary(int32(), string())),
        },
    )


def has_pyarrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None
