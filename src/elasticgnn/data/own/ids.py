"""Node ids: arrays of whole numbers where a file has only those, else of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[Any]  # (n,) int64, all >= 0, or object: text


def id_array(texts: Iterable[str]) -> Ids:
    """Ids of text (n,), as whole numbers where every one is written as a plain one."""
    listed = list(texts)
    numbers = whole_numbers(listed)
    return text_array(listed) if numbers is None else numbers


def text_array(texts: list[str]) -> Ids:
    """(n,) of Python's own text: numpy's would be as wide as the longest one."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def whole_numbers(texts: list[str]) -> NDArray[np.int64] | None:
    """The ids as numbers when each is written as a plain whole number, else None."""
    plain = (text.isascii() and text.isdigit() and len(text) < 19 for text in texts)
    if not all(plain) or any(text[0] == "0" and text != "0" for text in texts):
        return None
    return np.array(list(map(int, texts)), dtype=np.int64)


def is_numbers(ids: Ids) -> bool:
    """Whether the ids are whole numbers."""
    return ids.dtype.kind == "i"


def as_text(ids: Ids) -> Ids:
    """The ids as text."""
    return text_array(list(map(str, ids.tolist()))) if is_numbers(ids) else ids


def all_differ(ids: Ids) -> bool:
    """Whether no id stands twice; at once where they ascend, as most files have them."""
    if not is_numbers(ids):
        return len(set(ids.tolist())) == len(ids)
    if bool((ids[1:] > ids[:-1]).all()):
        return True
    ordered = np.sort(ids)
    return bool((ordered[1:] > ordered[:-1]).all())


def in_order(parts: list[Ids]) -> Ids:
    """Every id of the parts once: numbers by size, text by first mention (part by part)."""
    if all(map(is_numbers, parts)):
        return np.unique(np.concatenate(parts))
    named = [as_text(part).tolist() for part in parts]
    seen = dict.fromkeys(name for row in zip(*named, strict=True) for name in row)
    return id_array(seen)


class IdIndex:
    """Finds the position of each id of `ids`, all of which differ."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        if is_numbers(ids):
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]
        else:
            self._place = {name: place for place, name in enumerate(ids.tolist())}

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: Ids) -> NDArray[np.int64]:
        """The position of every one of `ids` (k,), -1 where there is none."""
        if is_numbers(self.ids) and is_numbers(ids):
            return self._find_numbers(ids)
        if is_numbers(self.ids):
            return IdIndex(as_text(self.ids)).find(ids)
        place = self._place
        return np.array([place.get(name, -1) for name in as_text(ids).tolist()], dtype=np.int64)

    def _find_numbers(self, ids: Ids) -> NDArray[np.int64]:
        if len(self._sorted) == 0:
            return np.full(len(ids), -1)
        if self._sorted[0] == 0 and self._sorted[-1] == len(self._sorted) - 1:
            inside = ids < len(self._sorted)  # 0, 1, 2, …: the number is its own place
            return np.where(inside, self._order[np.where(inside, ids, 0)], -1)
        slot = np.minimum(np.searchsorted(self._sorted, ids), len(self._sorted) - 1)
        return np.where(self._sorted[slot] == ids, self._order[slot], -1)
