"""SGC (Wu et al. 2019)."""

from torch import Tensor

from elasticgnn.extras import optional_imports
from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn.adjacency import GraphMatrix, prepare_normalized
from elasticgnn.nn.edges import NoLinear, edge_list
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.field import FieldGraph
from elasticgnn.nn.mlp import noise_in_use
from elasticgnn.nn.propagated import Propagated


class SGC(Propagated):
    """One linear map and K smoothing steps of torch_geometric's SGConv, which commute.

    >>> from elasticgnn.nn import SGC
    >>> SGC(16, 2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    prepare = staticmethod(prepare_normalized)

    def __init__(
        self, in_channels: int, out_channels: int, dropout: float = 0.5, K: int = 2
    ) -> None:
        with optional_imports():
            from torch_geometric.nn import SGConv

        super().__init__()
        self.linear = FeatureLinear(in_channels, out_channels, glorot=True)
        self.propagation = SGConv(out_channels, out_channels, K)
        self.propagation.lin = NoLinear()
        self.K = K
        self.dropout = dropout

    @property
    def receptive_steps(self) -> int:
        """How far away a node can be that another one's logits depend on."""
        return self.K

    def reset_parameters(self) -> None:
        """Draws the weights anew."""
        self.linear.reset_parameters()

    def logits(self, x: Tensor | SparseFeatures, *, noise: DropoutNoise | None = None) -> Tensor:
        """The linear map of each node's own features (n, out)."""
        logits: Tensor = self.linear(x, noise_in_use(self, noise), self.dropout)
        return logits

    def smooth(
        self,
        logits: Tensor,
        graph: Graph | Tensor | GraphMatrix | FieldGraph,
        edge_weight: Tensor | None,
    ) -> Tensor:
        """A^K logits, A the normalised adjacency with loops."""
        if isinstance(graph, FieldGraph):
            assert isinstance(graph.first, GraphMatrix)
            assert isinstance(graph.second, GraphMatrix)
            return graph.second @ (graph.first @ logits)
        if isinstance(graph, GraphMatrix):
            for _ in range(self.K):
                logits = graph @ logits
            return logits
        smoothed: Tensor = self.propagation(logits, *edge_list(graph, edge_weight, logits))
        return smoothed
