"""Rows of boundary nodes to the processes that have them in their halo, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True, eq=False)
class HaloExchange:
    """Which rows go where; a process talks to its neighbours only.

    send[q]: local rows for process q, in the order of q's halo; receive[q]: how many rows come
    from q, which lie one after another behind the owned rows.
    """

    owned: int
    send: dict[int, Tensor]
    receive: dict[int, int]
    group: Any = None
    count: dict[str, int] = field(default_factory=lambda: {"rows": 0, "bytes": 0, "exchanges": 0})

    @property
    def halo(self) -> int:
        """Number of rows that come from other processes."""
        return sum(self.receive.values())

    def start(self, rows: Tensor, width: int) -> Pending:
        """Begins to send the first `width` columns of boundary rows; `finish` it."""
        outbox = [(q, rows[index, :width].contiguous()) for q, index in self.send.items()]
        inbox = [(q, rows.new_empty(count, width)) for q, count in self.receive.items()]
        operations = [dist.P2POp(dist.irecv, box, peer=q, group=self.group) for q, box in inbox]
        operations += [dist.P2POp(dist.isend, box, peer=q, group=self.group) for q, box in outbox]
        work = dist.batch_isend_irecv(operations) if operations else []
        self.count["rows"] += sum(len(box) for _, box in outbox)
        self.count["bytes"] += sum(box.nbytes for _, box in outbox)
        self.count["exchanges"] += 1
        return Pending(rows[self.owned :, :width], [box for _, box in inbox], outbox, work)

    def fill(self, rows: Tensor) -> None:
        """Fills the halo rows of `rows` (owned + halo, ...) with their owners' rows."""
        flat = rows.view(len(rows), -1)
        self.start(flat, flat.shape[1]).finish()


@dataclass(frozen=True, eq=False)
class Pending:
    """An exchange under way."""

    halo: Tensor
    inbox: list[Tensor]
    outbox: list[tuple[int, Tensor]]  # kept alive until it is sent
    work: list[Any]

    def finish(self) -> None:
        """Waits, and writes the rows that came into the halo."""
        for work in self.work:
            work.wait()
        if self.work:
            self.halo.copy_(torch.cat(self.inbox))
        self.work.clear()
