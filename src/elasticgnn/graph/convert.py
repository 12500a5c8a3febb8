"""Edge lists from and to scipy, torch, networkx, torch_geometric and rows of a file."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.extras import optional_imports

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from elasticgnn.graph.graph import Graph

Arrays = tuple[Tensor, int, Tensor | None]  # edge_index, num_nodes, edge_weight


def scipy_arrays(matrix: Any) -> Arrays:
    """edge_index, number of nodes and weights of a SciPy matrix (n, n)."""
    from scipy import sparse

    if not sparse.issparse(matrix):
        raise ValueError(f"matrix must be a scipy sparse matrix, got {type(matrix).__name__}")
    entries = matrix.tocoo()
    _check_square("matrix", entries.shape)
    if entries.dtype.kind not in "fiub":
        raise ValueError(f"matrix must hold real numbers, got {entries.dtype}")
    index = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
    kept = np.float32 if entries.dtype == np.float32 else np.float64
    return index, int(entries.shape[0]), torch.from_numpy(entries.data.astype(kept))


def torch_sparse_arrays(adjacency: Tensor) -> Arrays:
    """edge_index, number of nodes and weights of a torch sparse matrix (n, n)."""
    if not isinstance(adjacency, Tensor) or adjacency.layout == torch.strided:
        raise ValueError("adjacency must be a torch sparse matrix (COO, CSR or CSC)")
    _check_square("adjacency", tuple(adjacency.shape))
    if adjacency.layout == torch.sparse_coo:
        if adjacency.requires_grad:  # _values() would be cut off from the matrix
            adjacency = adjacency.coalesce()
            return adjacency.indices(), len(adjacency), adjacency.values()
        return adjacency._indices(), len(adjacency), adjacency._values()
    if adjacency.layout == torch.sparse_csr:
        start, inner = adjacency.crow_indices(), adjacency.col_indices()
    elif adjacency.layout == torch.sparse_csc:
        start, inner = adjacency.ccol_indices(), adjacency.row_indices()
    else:
        raise ValueError(f"adjacency must be COO, CSR or CSC, got {adjacency.layout}")
    outer = torch.repeat_interleave(torch.arange(len(adjacency)), start.diff().cpu())
    index = torch.stack([outer.to(inner.device), inner.long()])
    if adjacency.layout == torch.sparse_csc:
        index = index.flip(0)
    return index, len(adjacency), adjacency.values()


def networkx_arrays(graph: Any) -> Arrays:
    """edge_index, number of nodes and weights of an undirected networkx graph."""
    if graph.is_directed():
        raise ValueError("graph must be undirected, got a directed networkx graph")
    number = {node: k for k, node in enumerate(graph.nodes)}
    rows = [(number[a], number[b], float(w)) for a, b, w in graph.edges(data="weight", default=1.0)]
    index, weight = _row_tensors(rows)
    return index, len(number), weight


def pyg_arrays(data: Any, weight: str | None) -> Arrays:
    """edge_index, number of nodes and weights of a torch_geometric Data."""
    if getattr(data, "edge_index", None) is None:
        raise ValueError("data must have an edge_index, got none")
    found = None if weight is None else getattr(data, weight, None)
    if found is None and weight not in (None, "edge_weight"):
        raise ValueError(f"weight must name an attribute of data, got {weight!r}")
    if found is None and weight is not None and _could_be_weights(data):
        raise ValueError(
            "weight must say what edge_attr is, which has one number per edge: 'edge_attr' if it "
            "weighs the edges, None if it does not"
        )
    return data.edge_index, int(data.num_nodes), found if found is None else found.view(-1)


def _could_be_weights(data: Any) -> bool:
    attribute = getattr(data, "edge_attr", None)
    return attribute is not None and attribute.numel() == len(attribute) > 0


def edge_rows(edges: str | Path | Iterable[tuple[float, ...]]) -> tuple[Tensor, Tensor | None]:
    """Edge list (2, E) and weights of (i, j[, weight]) rows or of a CSV file of such rows."""
    rows = list(_file_rows(Path(edges)) if isinstance(edges, str | Path) else edges)
    widths = {len(row) for row in rows}
    if not widths <= {2} and not widths <= {3}:
        raise ValueError(f"edges must be rows of 2 or of 3 numbers, got rows of {sorted(widths)}")
    for number, row in enumerate(rows):
        if any(int(node) != node for node in row[:2]):
            raise ValueError(f"edges must name nodes by whole numbers, got {row} in row {number}")
    index, weight = _row_tensors(rows)
    return index, weight if widths == {3} else None


def _file_rows(path: Path) -> Iterator[tuple[float, ...]]:
    with path.open(newline="") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            try:
                yield tuple(float(cell) for cell in row)
            except ValueError:
                if number > 1:  # the first row may be a header
                    raise ValueError(
                        f"edges must be numbers i,j[,weight], got {row} in line {number} of {path}"
                    ) from None


def _row_tensors(rows: Sequence[tuple[float, ...]]) -> tuple[Tensor, Tensor]:
    index = torch.tensor([[int(row[0]), int(row[1])] for row in rows], dtype=torch.int64)
    weight = torch.tensor([row[2] if len(row) > 2 else 1.0 for row in rows], dtype=torch.float64)
    return index.view(-1, 2).T, weight


def _check_square(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{name} must be square, got shape {tuple(shape)}")


def to_edge_index(graph: "Graph") -> tuple[Tensor, Tensor]:
    """Both directions as (2, 2m) and their weights (2m,)."""
    forward, weight = torch.stack([graph._tail, graph._head]), graph._weight
    return torch.cat([forward, forward.flip(0)], 1), torch.cat([weight, weight])


def to_scipy(graph: "Graph") -> "csr_array":
    """The symmetric adjacency matrix, no self-loops."""
    from scipy.sparse import coo_array

    index, weight = to_edge_index(graph)
    values = weight.detach().cpu().numpy()
    shape = (graph.num_nodes, graph.num_nodes)
    return coo_array((values, tuple(index.cpu().numpy())), shape).tocsr()


def to_torch_sparse(graph: "Graph", layout: torch.layout) -> Tensor:
    """The symmetric adjacency matrix in COO, CSR or CSC layout, no self-loops."""
    index, weight = to_edge_index(graph)
    shape = (graph.num_nodes, graph.num_nodes)
    adjacency = torch.sparse_coo_tensor(index, weight, shape, check_invariants=False).coalesce()
    if layout == torch.sparse_coo:
        return adjacency
    if layout == torch.sparse_csr:
        return adjacency.to_sparse_csr()
    if layout == torch.sparse_csc:
        return adjacency.to_sparse_csc()
    raise ValueError(f"layout must be sparse COO, CSR or CSC, got {layout}")


def to_networkx(graph: "Graph") -> Any:
    """An undirected networkx graph with `weight` on its edges."""
    with optional_imports():
        import networkx

    result = networkx.Graph()
    result.add_nodes_from(range(graph.num_nodes))
    rows = zip(graph._tail.tolist(), graph._head.tolist(), graph._weight.tolist(), strict=True)
    result.add_weighted_edges_from(rows)
    return result


def to_pyg(graph: "Graph") -> Any:
    """A torch_geometric Data with both directions of every edge."""
    with optional_imports():
        from torch_geometric.data import Data

    index, weight = to_edge_index(graph)
    return Data(edge_index=index, edge_weight=weight, num_nodes=graph.num_nodes)
