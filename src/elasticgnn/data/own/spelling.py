"""Names that look alike: upper and lower case, accents, signs without width, blanks, 1 and 1.0."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from elasticgnn.data.own.table import is_number, short

WHOLE = re.compile(r"0*([0-9]+)(?:\.0*)?")  # 7, 007, 7.0
ROUNDED = re.compile(r"\d([.,]\d+)?E\+\d{2,}")  # as spreadsheets write large numbers


def folded(text: str) -> str:
    """What looks alike has this in common: one case, one form of accents, nothing invisible."""
    if text.isascii():
        return " ".join(text.lower().split())
    seen = (sign for sign in text if unicodedata.category(sign) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", "".join(seen)).casefold().split())


def written(text: str) -> str:
    """The text in quotes; with its signs in ASCII where it looks like another one."""
    usual = unicodedata.normalize("NFC", text) == text and text.isprintable()
    return repr(short(text)) if usual else ascii(short(text))


def look_alike(texts: Iterable[str]) -> tuple[str, str] | None:
    """Two of the texts, which all differ, that look alike; None where there are none."""
    seen: dict[str, str] = {}
    for text in texts:
        other = seen.setdefault(folded(text), text)
        if other != text:
            return other, text
    return None


def one_number(texts: Iterable[str]) -> tuple[str, str] | None:
    """Two of the texts, which all differ, that are one whole number; None where there are none."""
    seen: dict[str, str] = {}
    for text in texts:
        found = WHOLE.fullmatch(text)
        if found and (other := seen.setdefault(found[1], text)) != text:
            return other, text
    return None


def pair_in_words(pair: tuple[str, str]) -> str:
    """Both texts, so that the eye can tell them apart."""
    if folded(pair[0]) != pair[0].casefold() or folded(pair[1]) != pair[1].casefold():
        return " and ".join(ascii(short(text)) for text in pair)
    return " and ".join(map(written, pair))


def otherwise_written(text: str, known: Iterable[object]) -> str:
    """A hint at a known id that looks like `text`, or is the same number; empty without one."""
    for other in map(str, known):
        same = folded(other) == folded(text)
        if same or (is_number(text) and is_number(other) and float(text) == float(other)):
            return f" (there is {written(other)})"
    return ""


def nothing_in_common(ids: Sequence[object], known: Sequence[object]) -> str:
    """What a file whose ids are all unknown was to know."""
    first, there = str(ids[0]), short(str(known[0]))
    other = f", there {there!r} (--id-column names the column of ids)"
    found = otherwise_written(first, known) or other
    return f"got no id in common, the first is {written(first)}{found}"
