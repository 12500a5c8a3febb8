"""What the elastic layer gives where its dual is asked for."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Smoothed:
    """What EMP gives with return_dual=True.

    >>> from elasticgnn.nn import EMP
    >>> smoothed = EMP(K=3)(task.features, task.graph, return_dual=True)
    >>> smoothed.signal.shape, smoothed.dual.shape[0] == task.graph.num_edges
    (torch.Size([60, 16]), True)
    """

    signal: Tensor  # (n, d), or (B, n, d)
    dual: Tensor  # (m, d), or (B, m, d), per unit of edge weight
    edge_index: Tensor  # (2, m): each edge once, the lower node first, in the order of the dual
