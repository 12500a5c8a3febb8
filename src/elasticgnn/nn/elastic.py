"""ElasticGNN: any network on the features, then elastic message passing on its output."""

from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn.emp import EMP
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.mlp import MLP
from elasticgnn.nn.propagated import Propagated
from elasticgnn.nn.reset import reset
from elasticgnn.problem import ElasticPenalty


class ElasticGNN(Propagated):
    """Logits of a backbone smoothed by K elastic steps (the paper's equation for Elastic GNNs).

    The backbone is an MLP of `num_layers` layers, or any module that maps x to (n, out_channels);
    one that does not begin with a `FeatureLinear` gets sparse features as a dense matrix.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        penalty: ElasticPenalty | None = None,
        K: int = 10,
        backbone: nn.Module | None = None,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        if backbone is None:
            backbone = MLP(
                in_channels, hidden_channels, out_channels, num_layers, dropout, batch_norm
            )
        self.backbone = backbone
        self.propagation = propagation(penalty or ElasticPenalty(), K)

    @property
    def penalty(self) -> ElasticPenalty:
        return self.propagation.penalty

    @property
    def K(self) -> int:
        return self.propagation.K

    def reset_parameters(self) -> None:
        reset(self.backbone, self.propagation)

    def logits(self, x: Tensor | SparseFeatures, *, noise: DropoutNoise | None = None) -> Tensor:
        """What the backbone says of each node (n, out), before any neighbour is heard."""
        if isinstance(self.backbone, MLP):
            return self.backbone(x, noise=noise)
        if isinstance(x, SparseFeatures) and not takes_sparse(self.backbone):
            x = x.to_dense()
        logits: Tensor = self.backbone(x)
        return logits

    def smooth(self, logits: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None) -> Tensor:
        smoothed: Tensor = self.propagation(logits, graph, edge_weight)
        return smoothed


def takes_sparse(backbone: nn.Module) -> bool:
    """Whether the first thing that features meet is a layer for sparse ones."""
    if isinstance(backbone, nn.Sequential) and len(backbone) > 0:
        return takes_sparse(backbone[0])
    return isinstance(backbone, MLP | FeatureLinear)


def propagation(penalty: ElasticPenalty, K: int) -> EMP:
    """The layer of `penalty`, whose concavity the layer's own arguments do not name."""
    layer = EMP(K, float(penalty.lambda1), float(penalty.lambda2), penalty.norm)
    layer.initial = penalty
    return layer
