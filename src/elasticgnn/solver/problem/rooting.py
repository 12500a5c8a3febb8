"""A forest with a root in every tree: what the dynamic programme reads, once for all strengths."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.problem.mesh import Mesh, loops

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rooting:
    """Nodes with parents before children; chains begin at an end."""

    order: NDArray[np.int32]  # (n,) the nodes
    parent: NDArray[np.int32]  # (n,) place of the parent in that order, -1 at a root
    weight: Array  # (n,) of the edge to the parent, 0 at a root
    scale: Array  # (n,) s in that order
    child: NDArray[np.intp]  # places that have a parent
    edge: NDArray[np.int32]  # their edges
    sign: Array  # 1 where the edge's tail is the child


def build_rooting(mesh: Mesh, weight: Array, scale: Array) -> Rooting:
    """The rooting of the edges with weight > 0, which close no cycle."""
    order, parent, edge = (np.empty(mesh.num_nodes, dtype=np.int32) for _ in range(3))
    found = loops().forest_root(mesh.handle, np.ascontiguousarray(weight), order, parent, edge)
    assert found, "a forest has no cycles"
    child = np.flatnonzero(edge >= 0)
    sign = np.where(mesh.tail[edge[child]] == order[child], 1.0, -1.0)
    up = np.append(weight, 0.0)[edge]
    return Rooting(order, parent, up, scale[order], child, edge[child], sign)
