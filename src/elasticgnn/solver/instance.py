"""One denoising problem as plain float64 arrays: what every method of the solver works on."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.geometry import Array as Array
from elasticgnn.solver.geometry import Geometry
from elasticgnn.solver.trend import ORDERS

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Instance:
    """min 1/2 sum_i c_i |F_i - X_i|^2 + sum_r omega_r (lambda1 |delta_r| + lambda2/2 |delta_r|^2).

    delta = K F with K the difference operator of `order`; c_i = 0 marks a missing value.
    """

    x: Array  # (n, d), 0 where the value is missing
    data_weight: Array  # (n,) c
    geometry: Geometry
    lambda1: float
    lambda2: float
    norm: str

    @property
    def graph(self) -> Graph:
        return self.geometry.graph

    @property
    def order(self) -> int:
        return self.geometry.order

    @property
    def entrywise(self) -> bool:
        """Whether channels do not interact: "l1", or one channel."""
        return self.norm == "l1" or self.x.shape[1] == 1

    @cached_property
    def missing(self) -> NDArray[np.intp]:
        """Nodes without data."""
        return np.flatnonzero(self.data_weight == 0)

    @property
    def operator(self) -> "csr_array":
        """K: (r, n)."""
        return self.geometry.operator

    @property
    def adjoint(self) -> "csr_array":
        """K' as rows: (n, r)."""
        return self.geometry.adjoint

    @property
    def row_weight(self) -> Array:
        """omega: (r,)."""
        return self.geometry.row_weight

    @property
    def scale(self) -> Array:
        """s: (n,)."""
        return self.geometry.scale

    @property
    def num_rows(self) -> int:
        return self.geometry.num_rows


def build_instance(
    x: Tensor, graph: Graph, penalty: ElasticPenalty, data_weight: Tensor | None, order: int
) -> Instance:
    """The checked problem; rows of missing values are read as 0."""
    _check_signal(x, graph)
    if not penalty.is_convex:
        raise ValueError(f"norm must be 'l1' or 'l21' for a certificate, got {penalty.norm!r}")
    strengths = {"lambda1": number(penalty.lambda1), "lambda2": number(penalty.lambda2)}
    for name, value in strengths.items():
        if not np.isfinite(value):
            raise ValueError(f"{name} must be finite for the solver, got {value}")
    if order not in ORDERS or isinstance(order, bool):
        raise ValueError(f"order must be one of {ORDERS}, got {order!r}")
    rows = x.detach().double().cpu().numpy()
    rows = rows[:, None] if rows.ndim == 1 else rows
    weight = _checked_weight(data_weight, graph)
    rows = np.where(weight[:, None] > 0, rows, 0.0)
    _check_finite(rows)
    return Instance(
        np.ascontiguousarray(rows), weight, Geometry(graph, order), **strengths, norm=penalty.norm
    )


def number(value: float | Tensor) -> float:
    """A strength as a plain number."""
    return float(value.detach()) if isinstance(value, Tensor) else float(value)


def _check_signal(x: Tensor, graph: Graph) -> None:
    if not isinstance(x, Tensor) or x.ndim not in (1, 2) or len(x) != graph.num_nodes:
        shape = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x must be a tensor ({graph.num_nodes},) or (n, d), got {shape}")
    if not x.is_floating_point():
        raise ValueError(f"x must be a float tensor, got {x.dtype}")


def _check_finite(rows: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(rows).all(1))
    if len(bad):
        raise ValueError(
            f"x must be finite where data_weight > 0, got {rows[bad[0]]} at node {bad[0]}"
        )


def _checked_weight(data_weight: Tensor | None, graph: Graph) -> Array:
    if data_weight is None:
        return np.ones(graph.num_nodes)
    if tuple(data_weight.shape) != (graph.num_nodes,):
        raise ValueError(
            f"data_weight must have shape ({graph.num_nodes},), got {tuple(data_weight.shape)}"
        )
    weight = data_weight.detach().double().cpu().numpy()
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        bad = weight[~(np.isfinite(weight) & (weight >= 0))][0]
        raise ValueError(f"data_weight must be finite and >= 0, got {bad}")
    if (weight == 0).any():
        _check_every_component_is_observed(weight, graph)
    return weight


def _check_every_component_is_observed(weight: Array, graph: Graph) -> None:
    labels = _without_dead_edges(graph).component_labels.cpu().numpy()
    observed = np.bincount(labels, weights=weight) > 0
    lost = np.flatnonzero(~observed[labels])
    if len(lost):
        raise ValueError(
            "data_weight must be > 0 somewhere in every component, "
            f"got only missing values around node {lost[0]}"
        )


def _without_dead_edges(graph: Graph) -> Graph:
    """The graph of the edges that connect something: those of weight > 0."""
    keep = graph.weight.detach() > 0
    index = torch.stack([graph.tail[keep], graph.head[keep]])
    return Graph.from_edge_index(index, graph.num_nodes, undirected=True)
