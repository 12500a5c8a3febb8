"""What a problem takes from its graph and order alone, computed once for all strengths."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.graph import Graph
from elasticgnn.solver.problem.mesh import Mesh, build_mesh
from elasticgnn.solver.problem.rooting import Rooting, build_rooting
from elasticgnn.solver.problem.trend import trend_operator

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Geometry:
    """The difference operator K of a graph and order, with its weights and scales."""

    graph: Graph
    order: int
    boundary: str = "graph"
    row_strength: Array | None = None  # (r,) a factor > 0 of the penalty of each row

    @cached_property
    def _trend(self) -> tuple["csr_array", Array]:
        return trend_operator(self.graph, self.order, self.boundary)

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
        """omega: (r,), the strength of each row included."""
        plain = self.graph.weight.detach().double().cpu().numpy() if self.is_plain else None
        weight = self._trend[1] if plain is None else plain
        return weight if self.row_strength is None else np.asarray(weight * self.row_strength)

    @cached_property
    def scale(self) -> Array:
        """s: (n,)."""
        return self.graph.scale.detach().double().cpu().numpy()

    @cached_property
    def unscaled(self) -> bool:
        """Whether s = 1 everywhere: constants are flat, and differences are those of F itself."""
        return bool((self.scale == 1).all())

    @cached_property
    def flat_constants(self) -> bool:
        """Whether s is one number per component: a constant has no differences."""
        if self.unscaled:
            return True
        first = np.unique(self.component, return_index=True)[1]
        return bool((self.scale == self.scale[first[self.component]]).all())

    @property
    def is_plain(self) -> bool:
        """Whether rows are the differences along edges: order 0 of the graph itself."""
        return self.order == 0 and self.boundary == "graph"

    @property
    def num_rows(self) -> int:
        """Number of penalised differences."""
        if self.boundary == "free":
            return int(self.operator.shape[0])
        return self.graph.num_nodes if self.order == 1 else self.graph.num_edges

    @cached_property
    def component(self) -> NDArray[np.intp]:
        """The component of each node (n,); an edge of weight 0 joins nothing."""
        keep = self.graph.weight.detach() > 0
        if bool(keep.all()):
            return self.graph.component_labels.cpu().numpy()
        index = torch.stack([self.graph.tail[keep], self.graph.head[keep]])
        live = Graph.from_edge_index(index, self.graph.num_nodes, undirected=True)
        return live.component_labels.cpu().numpy()

    @cached_property
    def is_forest(self) -> bool:
        """Whether the edges of weight > 0 close no cycle."""
        edges = int((self.graph.weight.detach() > 0).sum())
        return edges == self.graph.num_nodes - (int(self.component.max(initial=-1)) + 1)

    @cached_property
    def mesh(self) -> Mesh:
        """The graph as the compiled loops read it."""
        ends = (self.graph.tail, self.graph.head)
        tail, head = (end.cpu().numpy().astype(np.int32) for end in ends)
        return build_mesh(tail, head, self.graph.num_nodes)

    @cached_property
    def rooting(self) -> Rooting:
        """The forest with its roots."""
        return build_rooting(self.mesh, self.row_weight, self.scale)
