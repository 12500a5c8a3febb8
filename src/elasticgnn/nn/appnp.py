"""APPNP (Gasteiger et al. 2019)."""

from torch import Tensor

from elasticgnn.extras import optional_imports
from elasticgnn.graph import Graph
from elasticgnn.nn.edges import edge_list
from elasticgnn.nn.mlp import MLP
from elasticgnn.nn.propagated import Propagated


class APPNP(Propagated):
    """An MLP, then K steps of torch_geometric's APPNP with teleport probability `alpha`.

    The same network as ElasticGNN with lambda1 = 0 and lambda2 = 1/alpha - 1.

    >>> from elasticgnn.nn import APPNP
    >>> APPNP(16, 8, 2, K=4).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        dropout: float = 0.5,
        K: int = 10,
        alpha: float = 0.1,
    ) -> None:
        with optional_imports():
            from torch_geometric.nn import APPNP as Propagation

        super().__init__()
        self.backbone: MLP = MLP(in_channels, hidden_channels, out_channels, dropout=dropout)
        self.propagation = Propagation(K, alpha)

    def smooth(self, logits: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None) -> Tensor:
        """K steps of personalised PageRank on the logits (n, c)."""
        smoothed: Tensor = self.propagation(logits, *edge_list(graph, edge_weight, logits))
        return smoothed
