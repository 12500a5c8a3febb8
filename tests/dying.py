"""`python -m dying …` is `python -m elasticgnn …` in which one process is killed, once.

DYING_RANK kills itself (SIGKILL) when it begins epoch DYING_EPOCH; the file DYING_ONCE says that
it happened. The moment is the same on every machine: the others wait for it in that epoch, with
all checkpoints of earlier ones written.
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


if __name__ == "__main__":
    known = os.environ
    die_at(int(known["DYING_RANK"]), int(known["DYING_EPOCH"]), Path(known["DYING_ONCE"]))
    main()
