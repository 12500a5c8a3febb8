"""An undirected weighted graph: immutable, hashable by content, with its difference operator."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from elasticgnn.graph import checks, convert, derived, difference, parts
from elasticgnn.graph.edge_tiles import EdgeTiles
from elasticgnn.graph.merge import Edges, merge_edges
from elasticgnn.graph.on_device import edges_on_device
from elasticgnn.graph.once import may_need_gradient
from elasticgnn.graph.slots import Slots

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NORMALIZATIONS = ("degree", "none")


class Graph:
    """Undirected edges (tail < head, sorted, no self-loops, none parallel) with weights >= 0.

    With normalization "degree" (the paper's) node i is scaled by s_i = 1/sqrt(1 + sum of its
    weights); with "none" s_i = 1. L = I - A, or the plain Laplacian, is `divergence(difference)`.

    >>> graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> graph.num_nodes, graph.num_edges, graph.tail.tolist(), graph.head.tolist()
    (3, 2, [0, 1], [1, 2])
    """

    num_nodes: int
    _tail: Tensor
    _head: Tensor
    _weight: Tensor
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
            "_tail": edges.tail,
            "_head": edges.head,
            "_weight": edges.weight,
            "normalization": normalization,
            "_unit": unit,
            "_known": {},
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Graph is immutable: build a new one instead of setting {name!r}")

    def __getstate__(self) -> dict[str, Any]:  # what is derived names places in this memory
        return {**self.__dict__, "_known": {}}

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
        directed: str = "error",
        normalization: str = "degree",
    ) -> "Graph":
        """The graph of a torch_geometric edge list (2, E); differentiable in `edge_weight`.

        Both directions of every edge must be there with equal weights; with `undirected=True`
        each column is one undirected edge instead, with directed="symmetrize" an edge gets the
        mean over the directions that are there. Self-loops are dropped, parallel edges added.
        """
        checks.check_edge_index(edge_index)
        checks.check_directed(directed, undirected)
        built = None
        if not (edge_index.is_cpu or edge_index.is_meta):
            built = edges_on_device(edge_index, num_nodes, edge_weight, undirected, directed)
        if built is not None:
            return cls(built.edges, built.num_nodes, normalization=normalization, unit=built.unit)
        num_nodes = checks.check_num_nodes(num_nodes, edge_index)
        if edge_weight is not None:
            checks.check_weight(edge_weight, edge_index.shape[1])
        edges = merge_edges(edge_index, edge_weight, num_nodes, undirected, directed)
        unit = not may_need_gradient(edges.weight) and bool((edges.weight == 1).all())
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
    def from_pyg(
        cls, data: Any, *, weight: str | None = "edge_weight", normalization: str = "degree"
    ) -> "Graph":
        """The graph of a torch_geometric `Data`; `weight` names the attribute that weighs edges.

        Without an edge_weight all weigh 1. weight="edge_attr" takes edge_attr, None takes none.
        """
        arrays = convert.pyg_arrays(data, weight)
        return cls.from_edge_index(*arrays, normalization=normalization)

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
        return convert.to_edge_index(self)

    def to_scipy(self) -> "csr_array":
        """The weighted adjacency (n, n) as a SciPy CSR array."""
        return convert.to_scipy(self)

    def to_torch_sparse(self, layout: torch.layout = torch.sparse_csr) -> Tensor:
        """The weighted adjacency (n, n) as a torch sparse matrix of that layout."""
        return convert.to_torch_sparse(self, layout)

    def to_networkx(self) -> Any:
        """An undirected networkx graph with `weight` on its edges."""
        return convert.to_networkx(self)

    def to_pyg(self) -> Any:
        """A torch_geometric Data with both directions of every edge."""
        return convert.to_pyg(self)

    # -- operators -----------------------------------------------------------------------------

    def difference(self, signal: Tensor) -> Tensor:
        """delta_e = U_tail - U_head with U = scale * signal: (n, ...) to (m, ...)."""
        return difference.difference(self, signal)

    def divergence(self, dual: Tensor) -> Tensor:
        """s_i * sum over i's edges of ±w_e dual_e: adjoint of `difference`, weighted by w."""
        return difference.divergence(self, dual)

    def smooth(self, signal: Tensor) -> Tensor:
        """F - L F: the normalised adjacency with self-loops times `signal` when "degree"."""
        return signal - self.divergence(self.difference(signal))

    # -- derived quantities --------------------------------------------------------------------

    @property
    def tail(self) -> Tensor:
        """The lower end of each edge (m,): a copy, as everything public is."""
        return self._tail.clone()

    @property
    def head(self) -> Tensor:
        """The higher end of each edge (m,): a copy."""
        return self._head.clone()

    @property
    def weight(self) -> Tensor:
        """The weight of each edge (m,): a copy, or the very tensor if it asks for a gradient."""
        return self._weight if self._weight.requires_grad else self._weight.clone()

    @property
    def num_edges(self) -> int:
        """Number m of undirected edges."""
        return self._tail.shape[0]

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self._tail.device

    @property
    def is_unweighted(self) -> bool:
        """Every weight is 1 and none asks for a gradient."""
        return self._unit

    @property
    def degree(self) -> Tensor:
        """Sum of each node's weights (n,), plus 1 for the self-loop when "degree"."""
        return derived.degree(self).to(self._weight.dtype)

    @property
    def scale(self) -> Tensor:
        """s_i = 1/sqrt(degree_i), or 1 when "none": (n,)."""
        return derived.scale(self).to(self._weight.dtype)

    @property
    def norm_bound(self) -> float:
        """A number that is at least ||L||: 2 when "degree", else twice the largest degree."""
        return 2.0 if self.normalization == "degree" else derived.norm_bound(self)

    @property
    def _slots(self) -> Slots:
        """Both directions of every edge; made at the first use."""
        return derived.slots(self)

    def _edge_tiles(self) -> EdgeTiles:
        """The edges in tiles; made at the first use."""
        return derived.edge_tiles(self)

    def cast(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Weights (m,) and scales (n,) in `dtype`: copies, unless they ask for a gradient."""
        weight, scale = self._cast(dtype)
        return (weight, scale) if weight.requires_grad else (weight.clone(), scale.clone())

    def _cast(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """The same without the copies: what the library reads and never writes."""
        return derived.cast(self, dtype)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content: nodes, edges, weights, normalisation."""
        return derived.fingerprint(self)

    def __hash__(self) -> int:
        return int(self.fingerprint[:15], 16)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.fingerprint == other.fingerprint

    # -- parts and variants --------------------------------------------------------------------

    @property
    def component_labels(self) -> Tensor:
        """The number of each node's connected component (n,), by first appearance: a copy."""
        labels: Tensor = derived.component_labels(self)
        return labels.clone()

    @property
    def num_components(self) -> int:
        """Number of connected components."""
        return int(self.component_labels.max()) + 1 if self.num_nodes else 0

    def largest_component(self) -> tuple["Graph", Tensor]:
        """The largest component as a graph, and the nodes of this graph it consists of."""
        return parts.largest_component(self)

    def subgraph(self, nodes: Tensor) -> "Graph":
        """The graph of the distinct `nodes`, numbered in the order given."""
        return parts.subgraph(self, nodes)

    def permute(self, order: Tensor) -> "Graph":
        """The same graph with node order[k] of this one as node k."""
        return parts.permute(self, order)

    def with_edges_flipped(self, pairs: Tensor) -> "Graph":
        """The graph with each of `pairs` (k, 2) removed where it is an edge, else added."""
        return parts.with_edges_flipped(self, pairs)

    def with_weight(self, weight: Tensor) -> "Graph":
        """The same edges with other weights (m,)."""
        return parts.with_weight(self, weight)

    def with_normalization(self, normalization: str) -> "Graph":
        """The same edges with another normalisation."""
        return parts.with_normalization(self, normalization)

    def to(self, device: torch.device | str) -> "Graph":
        """The same graph on another device."""
        return parts.to_device(self, device)
