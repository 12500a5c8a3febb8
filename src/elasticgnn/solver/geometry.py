"""What a problem takes from its graph and order alone, computed once for all strengths."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.graph import Graph
from elasticgnn.solver.mesh import Mesh, build_mesh
from elasticgnn.solver.trend import trend_operator

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Geometry:
    """The difference operator K of a graph and order, with its weights and scales."""

    graph: Graph
    order: int

    @cached_property
    def _trend(self) -> tuple["csr_array", Array]:
        return trend_operator(self.graph, self.order)

    @property
    def operator(self) -> "csr_array":
        """K: (r, n)."""
        return self._trend[0]

    @cached_property
    def adjoint(self) -> "csr_array":
        """K' as rows: (n, r)."""
        from scipy.sparse import csr_array

        return csr_array(self.operator.T)

    @cached_property
    def row_weight(self) -> Array:
        """omega: (r,)."""
        if self.order == 0:
            return self.graph.weight.detach().double().cpu().numpy()
        return self._trend[1]

    @cached_property
    def scale(self) -> Array:
        """s: (n,)."""
        return self.graph.scale.detach().double().cpu().numpy()

    @property
    def num_rows(self) -> int:
        return self.graph.num_nodes if self.order == 1 else self.graph.num_edges

    @cached_property
    def mesh(self) -> Mesh:
        """The graph as the compiled loops read it."""
        ends = (self.graph.tail, self.graph.head)
        tail, head = (end.cpu().numpy().astype(np.int32) for end in ends)
        return build_mesh(tail, head, self.graph.num_nodes)
