"""An undirected weighted graph: immutable, hashable by content, with its difference operator."""

import hashlib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from elasticgnn.graph import checks, convert, parts
from elasticgnn.graph.merge import Edges, merge_edges
from elasticgnn.graph.once import once, once_if_fixed
from elasticgnn.graph.slots import Slots, build_slots
from elasticgnn.graph.tiling import Tiles, worthwhile_tiles

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NORMALIZATIONS = ("degree", "none")


class Graph:
    """Undirected edges (tail < head, sorted, no self-loops, none parallel) with weights >= 0.

    With normalization "degree" (the paper's) node i is scaled by s_i = 1/sqrt(1 + sum of its
    weights); with "none" s_i = 1. L = I - A, or the plain Laplacian, is `divergence(difference)`.
    """

    num_nodes: int
    tail: Tensor
    head: Tensor
    weight: Tensor
    normalization: str
    _unit: bool

    def __init__(
        self, edges: Edges, num_nodes: int, *, normalization: str = "degree", unit: bool = False
    ) -> None:
        """Trusts that `edges` are canonical; use `Graph.from_…` for anything from outside."""
        if normalization not in NORMALIZATIONS:
            raise ValueError(
                f"normalization must be one of {NORMALIZATIONS}, got {normalization!r}"
            )
        fields = {
            "num_nodes": num_nodes,
            "tail": edges.tail,
            "head": edges.head,
            "weight": edges.weight,
            "normalization": normalization,
            "_unit": unit,
            "_known": {},
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Graph is immutable: build a new one instead of setting {name!r}")

    def __repr__(self) -> str:
        weights = "" if self.is_unweighted else ", weighted"
        scaled = "" if self.normalization == "degree" else f", normalization={self.normalization!r}"
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}{weights}{scaled})"

    # -- from and to other forms -------------------------------------------------------------

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,
        num_nodes: int | None = None,
        edge_weight: Tensor | None = None,
        *,
        undirected: bool = False,
        normalization: str = "degree",
    ) -> "Graph":
        """The graph of a torch_geometric edge list (2, E); differentiable in `edge_weight`.

        Both directions of every edge must be there with equal weights; with `undirected=True`
        each column is one undirected edge instead. Self-loops are dropped, parallel edges added.
        """
        checks.check_edge_index(edge_index)
        num_nodes = checks.check_num_nodes(num_nodes, edge_index)
        if edge_weight is None:
            weight = torch.ones(edge_index.shape[1], dtype=torch.float64, device=edge_index.device)
        else:
            checks.check_weight(edge_weight, edge_index.shape[1])
            weight = edge_weight
        edges = merge_edges(edge_index, weight, num_nodes, undirected)
        unit = not edges.weight.requires_grad and bool((edges.weight == 1).all())
        return cls(edges, num_nodes, normalization=normalization, unit=unit)

    @classmethod
    def from_scipy(cls, matrix: Any, *, normalization: str = "degree") -> "Graph":
        """The graph of a symmetric sparse adjacency matrix."""
        return cls.from_edge_index(*convert.scipy_arrays(matrix), normalization=normalization)

    @classmethod
    def from_torch_sparse(cls, adjacency: Tensor, *, normalization: str = "degree") -> "Graph":
        """The graph of a symmetric torch sparse matrix (COO, CSR or CSC)."""
        return cls.from_edge_index(
            *convert.torch_sparse_arrays(adjacency), normalization=normalization
        )

    @classmethod
    def from_networkx(cls, graph: Any, *, normalization: str = "degree") -> "Graph":
        """The graph of a networkx graph, nodes in its order; edge attribute "weight" counts."""
        arrays = convert.networkx_arrays(graph)
        return cls.from_edge_index(*arrays, undirected=True, normalization=normalization)

    @classmethod
    def from_pyg(cls, data: Any, *, normalization: str = "degree") -> "Graph":
        """The graph of a torch_geometric `Data` object."""
        return cls.from_edge_index(*convert.pyg_arrays(data), normalization=normalization)

    @classmethod
    def from_edges(
        cls,
        edges: str | Path | Iterable[tuple[float, ...]],
        num_nodes: int | None = None,
        *,
        normalization: str = "degree",
    ) -> "Graph":
        """The graph of (i, j) or (i, j, weight) rows, each edge once: a list or a CSV file."""
        index, weight = convert.edge_rows(edges)
        return cls.from_edge_index(
            index, num_nodes, weight, undirected=True, normalization=normalization
        )

    def to_edge_index(self) -> tuple[Tensor, Tensor]:
        """Both directions as (2, 2m) and their weights (2m,)."""
        forward = torch.stack([self.tail, self.head])
        return torch.cat([forward, forward.flip(0)], 1), torch.cat([self.weight, self.weight])

    def to_scipy(self) -> "csr_array":
        return convert.to_scipy(self)

    def to_torch_sparse(self, layout: torch.layout = torch.sparse_csr) -> Tensor:
        return convert.to_torch_sparse(self, layout)

    def to_networkx(self) -> Any:
        return convert.to_networkx(self)

    def to_pyg(self) -> Any:
        return convert.to_pyg(self)

    # -- operators -----------------------------------------------------------------------------

    def difference(self, signal: Tensor) -> Tensor:
        """delta_e = U_tail - U_head with U = scale * signal: (n, ...) to (m, ...)."""
        scaled = _rows(self.cast(signal.dtype)[1], signal) * signal
        return scaled[self.tail] - scaled[self.head]

    def divergence(self, dual: Tensor) -> Tensor:
        """s_i * sum over i's edges of ±w_e dual_e: adjoint of `difference`, weighted by w."""
        weight, scale = self.cast(dual.dtype)
        flow = _rows(weight, dual) * dual
        total = dual.new_zeros(self.num_nodes, *dual.shape[1:])
        total = total.index_add(0, self.tail, flow).index_add(0, self.head, -flow)
        return _rows(scale, total) * total

    def smooth(self, signal: Tensor) -> Tensor:
        """F - L F: the normalised adjacency with self-loops times `signal` when "degree"."""
        return signal - self.divergence(self.difference(signal))

    # -- derived quantities --------------------------------------------------------------------

    @property
    def num_edges(self) -> int:
        return self.tail.shape[0]

    @property
    def device(self) -> torch.device:
        return self.tail.device

    @property
    def is_unweighted(self) -> bool:
        """Every weight is 1 and none asks for a gradient."""
        return self._unit

    @property
    def degree(self) -> Tensor:
        """Sum of each node's weights (n,), plus 1 for the self-loop when "degree"."""
        total = self.weight.new_full((self.num_nodes,), float(self.normalization == "degree"))
        return total.index_add(0, self.tail, self.weight).index_add(0, self.head, self.weight)

    @property
    def scale(self) -> Tensor:
        """s_i = 1/sqrt(degree_i), or 1 when "none": (n,)."""
        if self.normalization == "none":
            return self.weight.new_ones(self.num_nodes)
        return self.degree.rsqrt()

    @property
    def norm_bound(self) -> float:
        """A number that is at least ||L||: 2 when "degree", else twice the largest degree."""
        if self.normalization == "degree":
            return 2.0
        return _norm_bound(self)

    @property
    def slots(self) -> Slots:
        """Both directions of every edge; made at the first use."""
        return _slots(self)

    def tiles(self, blocks: int) -> Tiles | None:
        """The edges in tiles between blocks of nodes, if they pay; made at the first use."""
        return _tiles(self, blocks)

    def cast(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Weights (m,) and scales (n,) in `dtype`."""
        return _cast(self, dtype)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content: nodes, edges, weights, normalisation."""
        digest = hashlib.sha256(f"{self.num_nodes} {self.normalization}".encode())
        for part in (self.tail, self.head, self.weight.detach().double()):
            digest.update(part.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def __hash__(self) -> int:
        return int(self.fingerprint[:15], 16)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.fingerprint == other.fingerprint

    # -- parts and variants --------------------------------------------------------------------

    @cached_property
    def component_labels(self) -> Tensor:
        """The number of each node's connected component (n,), by first appearance."""
        return parts.component_labels(self)

    @property
    def num_components(self) -> int:
        return int(self.component_labels.max()) + 1 if self.num_nodes else 0

    def largest_component(self) -> tuple["Graph", Tensor]:
        """The largest component as a graph, and the nodes of this graph it consists of."""
        return parts.largest_component(self)

    def subgraph(self, nodes: Tensor) -> "Graph":
        """The graph of the distinct `nodes`, numbered in the order given."""
        return parts.subgraph(self, nodes)

    def permute(self, order: Tensor) -> "Graph":
        """The same graph with node order[k] of this one as node k."""
        if len(order) != self.num_nodes:
            raise ValueError(f"order must name all {self.num_nodes} nodes once, got {len(order)}")
        return parts.subgraph(self, order, name="order")

    def with_edges_flipped(self, pairs: Tensor) -> "Graph":
        """The graph with each of `pairs` (k, 2) removed where it is an edge, else added."""
        return parts.with_edges_flipped(self, pairs)

    def with_weight(self, weight: Tensor) -> "Graph":
        """The same edges with other weights (m,)."""
        checks.check_weight(weight, self.num_edges, "weight")
        return Graph(
            Edges(self.tail, self.head, weight), self.num_nodes, normalization=self.normalization
        )

    def with_normalization(self, normalization: str) -> "Graph":
        edges = Edges(self.tail, self.head, self.weight)
        return Graph(edges, self.num_nodes, normalization=normalization, unit=self.is_unweighted)

    def to(self, device: torch.device | str) -> "Graph":
        edges = Edges(self.tail.to(device), self.head.to(device), self.weight.to(device))
        return Graph(
            edges, self.num_nodes, normalization=self.normalization, unit=self.is_unweighted
        )


def _rows(per_row: Tensor, like: Tensor) -> Tensor:
    """`per_row` (k,) shaped to multiply the rows of `like` (k, ...)."""
    return per_row.view(-1, *[1] * (like.ndim - 1))


@once
def _norm_bound(graph: Graph) -> float:
    largest = float(graph.degree.detach().max()) if graph.num_edges else 0.0
    return 2.0 * largest if largest > 0 else 1.0


@once
def _tiles(graph: Graph, blocks: int) -> Tiles | None:
    return worthwhile_tiles(graph.tail, graph.head, graph.num_nodes, blocks)


@once
def _slots(graph: Graph) -> Slots:
    return build_slots(graph.tail, graph.head, graph.num_nodes)


@once_if_fixed
def _cast(graph: Graph, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    return graph.weight.to(dtype), graph.scale.to(dtype)
