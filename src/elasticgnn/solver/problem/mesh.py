"""A graph as the compiled loops read it (kernels/solver/problem.h)."""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from elasticgnn.kernels import native


def loops() -> ModuleType:
    """The compiled module."""
    assert native is not None
    return native


@dataclass(frozen=True)
class Mesh:
    """Edges by tail and by head; keeps alive the arrays whose addresses the loops hold."""

    leave: NDArray[np.int32]  # (n + 1,) edges leave[i] to leave[i+1] have node i as tail
    enter: NDArray[np.int32]  # (n + 1,) and entering[enter[i]] to entering[enter[i+1]] as head
    entering: NDArray[np.int32]  # (m,)
    tail: NDArray[np.int32]  # (m,) ascending
    head: NDArray[np.int32]  # (m,)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.leave) - 1

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.tail)

    @cached_property
    def handle(self) -> object:
        """The mesh as the compiled loops take it."""
        arrays = (self.leave, self.enter, self.entering, self.tail, self.head)
        return loops().Mesh(self.num_nodes, self.num_edges, *arrays)


def build_mesh(tail: NDArray[np.int32], head: NDArray[np.int32], num_nodes: int) -> Mesh:
    """The mesh of edges that are sorted by tail."""
    entering = np.argsort(head, kind="stable").astype(np.int32)
    return Mesh(_starts(tail, num_nodes), _starts(head, num_nodes), entering, tail, head)


def _starts(node: NDArray[np.int32], num_nodes: int) -> NDArray[np.int32]:
    start = np.zeros(num_nodes + 1, dtype=np.int32)
    np.cumsum(np.bincount(node, minlength=num_nodes), out=start[1:])
    return start
