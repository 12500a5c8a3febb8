"""`python -m dying …` is `python -m elasticgnn …` in which one process is killed, once.

DYING_RANK kills itself (SIGKILL) when it begins epoch DYING_EPOCH; the file DYING_ONCE says that
it happened. The moment is the same on every machine: the others wait for it in that epoch, with
all checkpoints of earlier ones written. With DYING_IN=checkpoint it dies in writing the first
checkpoint behind that epoch, its bytes on the disk and the old file still in its place.
"""

import os
import signal
from pathlib import Path

from elasticgnn.__main__ import main
from elasticgnn.distributed.fit import Loop


def die_at(rank: int, epoch: int, once: Path) -> None:
    whole = Loop.epoch

    def until(self: Loop, number: int) -> None:
        if number == epoch and self.network.graph.rank == rank and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        whole(self, number)

    Loop.epoch = until


def die_in_checkpoint(epoch: int, once: Path) -> None:
    whole = Loop.write

    def until(self: Loop, path: Path, run: str) -> None:
        if len(self.record.epochs) >= epoch and self.network.graph.rank == 0 and not once.exists():
            once.touch()
            os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        whole(self, path, run)

    Loop.write = until


if __name__ == "__main__":
    known = os.environ
    if known.get("DYING_IN") == "checkpoint":
        die_in_checkpoint(int(known["DYING_EPOCH"]), Path(known["DYING_ONCE"]))
        main()
    die_at(int(known["DYING_RANK"]), int(known["DYING_EPOCH"]), Path(known["DYING_ONCE"]))
    main()
