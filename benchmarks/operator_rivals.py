"""What the operator is compared with: the same steps in plain torch.sparse, and APPNP two ways."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn import Graph

STEPS = 10
LAMBDA1 = 3.0
LAMBDA2 = 3.0


@dataclass(frozen=True)
class SparseMatrices:
    """float32 CSR matrices of one graph: smoothing, edge differences, and their transpose."""

    smooth: Tensor  # (n, n)
    difference: Tensor  # (m, n)
    divergence: Tensor  # (n, m)


def csr(row: Tensor, column: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """The CSR matrix with int32 indices, which torch passes on to its fastest product."""
    matrix = torch.sparse_coo_tensor(torch.stack([row, column]), value, shape).coalesce()
    matrix = matrix.to_sparse_csr()
    return torch.sparse_csr_tensor(
        matrix.crow_indices().int(), matrix.col_indices().int(), matrix.values(), shape
    )


def sparse_matrices(graph: Graph) -> SparseMatrices:
    """The matrices of the paper's Figure 1, for unit weights."""
    n, m = graph.num_nodes, graph.num_edges
    scale = graph.scale.float()
    tail, head, edge = graph.tail, graph.head, torch.arange(m)
    loop = torch.arange(n)
    row, column = torch.cat([tail, head, loop]), torch.cat([head, tail, loop])
    incidence = torch.cat([edge, edge]), torch.cat([tail, head])
    value = torch.cat([scale[tail], -scale[head]])
    return SparseMatrices(
        csr(row, column, scale[row] * scale[column], (n, n)),
        csr(*incidence, value, (m, n)),
        csr(incidence[1], incidence[0], value, (n, m)),
    )


class _Product(torch.autograd.Function):
    """matrix @ rows, with the product by a stored transpose as its gradient."""

    @staticmethod
    def forward(ctx, matrix: Tensor, transposed: Tensor, rows: Tensor) -> Tensor:
        ctx.transposed = transposed
        return matrix @ rows

    @staticmethod
    def backward(ctx, grad: Tensor):
        return None, None, ctx.transposed @ grad


def plain_elastic(matrices: SparseMatrices) -> Callable[[Tensor], Tensor]:
    """The paper's Figure 1 on torch.sparse CSR products, norm l21; autograd differentiates it."""
    gamma, beta = 1 / (1 + LAMBDA2), (1 + LAMBDA2) / 2

    def smooth(rows: Tensor) -> Tensor:
        return _Product.apply(matrices.smooth, matrices.smooth, rows)

    def difference(rows: Tensor) -> Tensor:
        return _Product.apply(matrices.difference, matrices.divergence, rows)

    def divergence(rows: Tensor) -> Tensor:
        return _Product.apply(matrices.divergence, matrices.difference, rows)

    def run(x: Tensor) -> Tensor:
        signal, dual = x, x.new_zeros(matrices.difference.shape[0], x.shape[1])
        for _ in range(STEPS):
            y = gamma * x + (1 - gamma) * smooth(signal)
            ascended = dual + beta * difference(y - gamma * divergence(dual))
            length = torch.linalg.vector_norm(ascended, dim=1, keepdim=True)
            dual = ascended * (LAMBDA1 / length.clamp(min=LAMBDA1))
            signal = y - gamma * divergence(dual)
        return signal

    return run


def appnp_products(matrices: SparseMatrices) -> Callable[[Tensor], Tensor]:
    """APPNP with the same teleport, as products with one torch.sparse CSR matrix."""
    alpha = 1 / (1 + LAMBDA2)

    def run(x: Tensor) -> Tensor:
        signal = x
        for _ in range(STEPS):
            signal = alpha * x + (1 - alpha) * _Product.apply(
                matrices.smooth, matrices.smooth, signal
            )
        return signal

    return run


def appnp_layer(graph: Graph) -> Callable[[Tensor], Tensor]:
    """torch_geometric's APPNP on an edge list, its normalisation included as it ships."""
    from torch_geometric.nn import APPNP

    layer = APPNP(K=STEPS, alpha=1 / (1 + LAMBDA2))
    edge_index, _ = graph.to_edge_index()
    return lambda x: layer(x, edge_index)
