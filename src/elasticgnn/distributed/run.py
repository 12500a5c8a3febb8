"""K steps over the graph on this process's rows, and once their adjoint."""

from __future__ import annotations

import torch
from torch import Tensor

from elasticgnn.distributed import steps as passes
from elasticgnn.distributed.loops import Loops, Tape


class Run:
    """One forward pass with what its adjoint needs; lists of rows that it is given get empty."""

    def __init__(self, loops: Loops, steps: int, *, strengths: bool = False) -> None:
        self.loops, self.steps, self.strengths = loops, steps, strengths
        self.tape: list[Tape] | None = None
        self.x = torch.empty(0)
        if not strengths:
            loops.choose_stride(steps)

    def forward(self, pieces: list[Tensor], *, gradient: bool) -> Tensor:
        """The signal (owned, width) of rows in the parts' order."""
        self.tape = [] if gradient else None
        self.x = self.loops.load(pieces)
        signal = passes.forward(self.loops, self.x, self.steps, self.tape, self.strengths)
        return self.loops.unload(signal)

    def backward(self, pieces: list[Tensor], sums: passes.Sums | None = None) -> Tensor:
        """The gradient of the rows for that of the signal; gradients of strengths go to `sums`."""
        if self.steps == 0:
            return torch.cat(pieces)
        loops, tape, self.tape = self.loops, self.tape, None
        if tape is None:
            raise RuntimeError("the gradient of the distributed operator can be taken once only")
        g = loops.load(pieces, halo=True)
        g[: loops.owned] *= loops.scale[: loops.owned, None]
        return loops.unload(passes.backward(loops, self.x, g, tape, sums))
