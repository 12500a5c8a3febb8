"""Rows of boundary nodes to the processes that have them in their halo, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch.distributed as dist
from torch import Tensor

from elasticgnn.distributed.agreement import global_rank
from elasticgnn.distributed.shared_boxes import SharedBoxes
from elasticgnn.distributed.transport import talking
from elasticgnn.kernels import native as kernels

native: Any = kernels


class Arriving(NamedTuple):
    """Rows on their way from one process, and where they belong."""

    packed: Tensor | None  # what comes, if not through shared memory
    rows: Tensor
    width: int
    boxes: SharedBoxes | None = None
    address: int = 0  # of the shared box, with the exchange whose rows it will hold
    number: int = 0


@dataclass(frozen=True, eq=False)
class HaloExchange:
    """Which rows go where; a process talks to its neighbours only.

    send[q]: local rows for process q, in the order of q's halo; receive[q]: how many rows come
    from q, which lie one after another behind the owned rows. Rows for a process of the same
    machine lie in memory that both share, others are messages.
    """

    owned: int
    send: dict[int, Tensor]
    receive: dict[int, int]
    group: Any = None
    shared: dict[int, SharedBoxes] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=lambda: {"rows": 0, "bytes": 0, "exchanges": 0})

    @property
    def halo(self) -> int:
        """Number of rows that come from other processes."""
        return sum(self.receive.values())

    def start(self, rows: Tensor, width: int) -> Pending:
        """Begins to send the first `width` columns of boundary rows; `finish` it."""
        self.count["exchanges"] += 1
        for boxes in self.shared.values():
            boxes.next_exchange()
        arriving = self._arriving(rows, width)
        with talking():
            work = [
                dist.irecv(one.packed, global_rank(q, self.group), self.group)
                for q, one in arriving.items()
                if one.packed is not None
            ]
        outbox = []
        for q, index in self.send.items():  # receivers wait already when the rows set out
            if q in self.shared:
                self._share(self.shared[q], rows, index, width)
            else:
                outbox.append(packed_rows(rows, index, width))
                to = global_rank(q, self.group)
                with talking():
                    work.append(dist.isend(outbox[-1], to, self.group))
            self.count["rows"] += len(index)
            self.count["bytes"] += len(index) * width * rows.element_size()
        return Pending(list(arriving.values()), outbox, work)

    def _arriving(self, rows: Tensor, width: int) -> dict[int, Arriving]:
        """Room for what comes: the halo rows themselves where they are not longer."""
        found, first = {}, self.owned
        for q, count in self.receive.items():
            halo = rows[first : first + count]
            first += count
            if q in self.shared:
                boxes = self.shared[q]
                address = boxes.inbox(count * width * rows.element_size())
                found[q] = Arriving(None, halo, width, boxes, address, boxes.number)
                continue
            room = halo if width == rows.shape[1] else rows.new_empty(count, width)
            found[q] = Arriving(room, halo, width)
        return found

    @staticmethod
    def _share(boxes: SharedBoxes, rows: Tensor, index: Tensor, width: int) -> None:
        """Writes the rows into the shared box, and says that they are there."""
        address = boxes.outbox(len(index) * width * rows.element_size())
        pack(rows, index, width, address)
        boxes.announce(address)

    def fill(self, rows: Tensor) -> None:
        """Fills the halo rows of `rows` (owned + halo, ...) with their owners' rows."""
        flat = rows.view(len(rows), -1)
        self.start(flat, flat.shape[1]).finish()


@dataclass(frozen=True, eq=False)
class Pending:
    """An exchange under way."""

    arriving: list[Arriving]
    outbox: list[Tensor]  # kept alive until it is sent
    work: list[Any]

    def finish(self) -> None:
        """Waits, and writes the rows that came into the halo."""
        with talking():
            for work in self.work:
                work.wait()
        for one in self.arriving:
            unpack(one)
        self.work.clear()
        self.arriving.clear()


def packed_rows(rows: Tensor, index: Tensor, width: int) -> Tensor:
    """The first `width` columns of the rows `index`, one after another."""
    if native is None:
        return rows[:, :width].index_select(0, index)
    out = rows.new_empty(len(index), width)
    pack(rows, index, width, out.data_ptr())
    return out


def pack(rows: Tensor, index: Tensor, width: int, to: int) -> None:
    """Writes the first `width` columns of the rows `index` one after another to the address."""
    size = rows.element_size()
    native.halo_pack(
        rows.data_ptr(), rows.stride(0) * size, width * size, index.data_ptr(), len(index), to
    )


def unpack(one: Arriving) -> None:
    """Moves the rows that came to their place."""
    if one.boxes is not None:
        one.boxes.await_rows(one.address, one.number)
        unpack_from(one.address, one)
        one.boxes.release(one.address, one.number)
    elif one.packed is not one.rows and one.packed is not None:
        if native is None:
            one.rows[:, : one.width] = one.packed
        else:
            unpack_from(one.packed.data_ptr(), one)


def unpack_from(address: int, one: Arriving) -> None:
    """Moves rows that lie one after another at the address to their place."""
    size = one.rows.element_size()
    place = (one.rows.data_ptr(), one.rows.stride(0) * size)
    native.halo_unpack(address, one.width * size, len(one.rows), *place)
