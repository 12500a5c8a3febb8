"""The text of a table file: packed or not, its encoding, and what separates its columns."""

from __future__ import annotations

import gzip
import re
import zipfile
from codecs import BOM_UTF8 as BOM_UTF8
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from elasticgnn.data.npy import damage_refused
from elasticgnn.data.npz import FREELY_UNPACKED, UNPACKED_TIMES

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
PACKED = (".gz", ".zip")
WHITE = frozenset(b"\t\n\r\f\v")
OF_MACS = "__MACOSX/"  # where Macs keep what no other system wants to know of a file
POINTED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
EXCEL_SIGN = re.compile(r"sep=[;,\t]", re.IGNORECASE)  # a first line that tells Excel the delimiter
LOOKED_AT = 4096  # bytes, or letters, by which text is told from other content
QUOTED = re.compile(r'"[^"]*"')
BETWEEN_DIGITS = re.compile(r"(?<=\d),(?=\d)")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")


def table_ending(path: Path) -> str:
    """The ending of what a file holds: .csv for edges.csv.gz and for a zip of one edges.csv."""
    ending = path.suffix.lower()
    if ending == ".gz":
        return Path(path.stem).suffix.lower()
    if ending == ".zip" and path.is_file():
        return Path(only_member(path).filename).suffix.lower()
    return ending


def only_member(path: Path) -> zipfile.ZipInfo:
    """The one file in a zip archive; ValueError if there are none or several."""
    with damage_refused(path, "a zip file"), zipfile.ZipFile(path) as archive:
        parts = [part for part in archive.infolist() if not part.is_dir()]
    files = [part for part in parts if not part.filename.startswith(OF_MACS)]
    if len(files) != 1:
        raise ValueError(f"{path} must hold one file, got {len(files)}")
    return files[0]


def read_bytes(path: Path) -> bytes:
    """The content, unpacked; what grows to far more than its file is refused."""
    ending = path.suffix.lower()
    if ending not in PACKED:
        return path.read_bytes()
    most = max(FREELY_UNPACKED, UNPACKED_TIMES * path.stat().st_size)
    with damage_refused(path, f"a whole {ending} file"), unpacked(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} must unpack to at most {most} bytes, got more: unpack it first")
    return content


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """The one file in a .gz or .zip."""
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as file:
            yield file
        return
    with zipfile.ZipFile(path) as archive, archive.open(only_member(path)) as member:
        yield member


def read_text(path: Path, encoding: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The text in `encoding`, and notes; without one in UTF-8, in UTF-16 or UTF-32 where the file
    begins with its mark, in UTF-16 without a mark where every byte speaks for it, or else in
    Windows-1252, the extended Latin-1 of spreadsheets."""
    content = read_bytes(path)
    if encoding is not None:
        return decoded(path, content, encoding), ()
    if content.startswith((BOM_UTF32_LE, BOM_UTF32_BE)):  # the first begins with that of UTF-16
        return content.decode("utf-32", errors="replace"), ()
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace"), ()
    if b"\0" in content:
        return text_of_pairs(path, content)
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        if any(byte < 32 and byte not in WHITE for byte in content[:LOOKED_AT]):
            raise binary(path) from None
        row = content[: error.start].count(b"\n") + 1
        text = decoded(path, content, "cp1252")
    note = f"{path.name}: row {row} is not UTF-8; read as Windows-1252 (--encoding names another)"
    return text, (note,)


def text_of_pairs(path: Path, content: bytes) -> tuple[str, tuple[str, ...]]:
    """UTF-16 without its mark, with a note; refuses what else has zeros among its bytes."""
    first, second = content[:LOOKED_AT:2], content[1:LOOKED_AT:2]
    encoding = "utf-16-le" if 0 in second else "utf-16-be"
    letters, zeros = (first, second) if encoding == "utf-16-le" else (second, first)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise binary(path) from None
    is_plain = "".join(text[:LOOKED_AT].split()).isprintable()
    if 0 in letters or 2 * zeros.count(0) < len(zeros) or not is_plain:
        raise binary(path)
    note = f"{path.name}: read as {encoding.upper()} (--encoding names another)"
    return text, (note,)


def binary(path: Path) -> ValueError:
    """That the content is no text in an encoding that can be told by its bytes."""
    return ValueError(
        f"{path} must be a text file, got binary content (--encoding names an unusual encoding, "
        "such as utf-16-le)"
    )


def decoded(path: Path, content: bytes, encoding: str) -> str:
    """The text in `encoding`; a byte it does not have is named by its row."""
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except (UnicodeDecodeError, LookupError) as error:
        start = getattr(error, "start", 0)
        row = content[:start].count(b"\n") + 1
        raise ValueError(
            f"{path}, row {row}: text must be {encoding}, got byte 0x{content[start]:02x} "
            "(--encoding names another)"
        ) from None


def find_delimiter(text: str, usual: str) -> str:
    """What separates columns: what a line for Excel names, the usual sign, or else what the first
    row has instead of it."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if EXCEL_SIGN.fullmatch(first):
        return first[4]
    bare = QUOTED.sub("", first)
    if ";" in bare:  # a comma between digits is then a decimal comma
        bare = BETWEEN_DIGITS.sub("", bare)
    if usual in bare:
        return usual
    return next((sign for sign in (";", "\t", ",") if sign in bare), usual)


def without_comments(text: str) -> str:
    """A SNAP edge list as tab-separated text: rows of # become blank, spaces become tabs."""
    rows = text.split("\n")
    if not any(row.startswith("#") for row in rows[:100]) and "\t" in text[:10_000]:
        return text
    return "\n".join("" if row.startswith("#") else "\t".join(row.split()) for row in rows)


def with_decimal_points(rows: list[list[str]]) -> list[list[str]]:
    """Numbers such as 1,5 with a point, in tables separated by semicolons."""
    return [
        [cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell for cell in cells]
        for cells in rows
    ]


def pointed_thousands(rows: list[list[str]]) -> str | None:
    """A number such as 1.200 of a column whose points all stand before three digits; else None.

    Where semicolons separate columns, it may be written for 1200.
    """
    for column in zip(*rows, strict=True):
        pointed = [cell for cell in column if "." in cell]
        if pointed and all(map(POINTED.fullmatch, pointed)):
            return pointed[0]
    return None
