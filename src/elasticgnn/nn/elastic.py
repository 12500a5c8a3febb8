"""ElasticGNN: any network on the features, then elastic message passing on its output."""

from dataclasses import replace
from inspect import signature
from typing import Any

from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn.emp import EMP
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.mlp import MLP
from elasticgnn.nn.propagated import Propagated
from elasticgnn.nn.reset import reset
from elasticgnn.problem import EdgePenalty, ElasticPenalty


class ElasticGNN(Propagated):
    """Logits of a backbone smoothed by K elastic steps (the paper's equation for Elastic GNNs).

    The backbone is an MLP of `num_layers` layers, or any module that maps x to (n, out_channels);
    one that does not begin with a `FeatureLinear` gets sparse features as a dense matrix, and one
    whose forward takes an `edge_index` (a GCNConv, a torch_geometric Sequential) sees the graph.
    The penalty is given whole, or by its parts lambda1, lambda2, norm and concavity.
    directed="symmetrize" reads an edge with one direction only (sampled neighbours) as if it had
    both.

    >>> from elasticgnn.nn import ElasticGNN
    >>> network = ElasticGNN(16, 8, 2, lambda1=3.0, lambda2=0.0).eval()
    >>> network(task.features, task.graph).shape
    torch.Size([60, 2])
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
        *,
        lambda1: float | None = None,
        lambda2: float | None = None,
        norm: str | EdgePenalty | None = None,
        concavity: float | None = None,
        learnable: bool | str = False,
        directed: str = "error",
    ) -> None:
        super().__init__()
        given: dict[str, Any] = {
            "lambda1": lambda1,
            "lambda2": lambda2,
            "norm": norm,
            "concavity": concavity,
        }
        given = {name: value for name, value in given.items() if value is not None}
        if penalty is not None and given:
            raise ValueError(
                f"penalty must be None where its parts are given, got both: {sorted(given)}"
            )
        if backbone is None:
            backbone = MLP(
                in_channels, hidden_channels, out_channels, num_layers, dropout, batch_norm
            )
        self.backbone = backbone
        own = replace(ElasticPenalty(), **given) if penalty is None else penalty
        options: dict[str, Any] = {"learnable": learnable, "directed": directed}
        self.propagation = propagation(own, K, channels=out_channels, **options)

    @property
    def penalty(self) -> ElasticPenalty:
        """The strengths in use, learned ones as tensors."""
        return self.propagation.penalty

    @property
    def K(self) -> int:
        """Number of elastic steps."""
        return self.propagation.K

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        reset(self.backbone, self.propagation)

    def logits(self, x: Tensor | SparseFeatures, *, noise: DropoutNoise | None = None) -> Tensor:
        """The backbone's logits (n, out), before any smoothing."""
        if isinstance(self.backbone, MLP):
            return self.backbone(x, noise=noise)
        if isinstance(x, SparseFeatures) and not takes_sparse(self.backbone):
            x = x.to_dense()
        if sees_graph(self.backbone):
            raise ValueError("logits must be asked of a backbone without a graph, got one with it")
        logits: Tensor = self.backbone(x)
        return logits

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor | None = None,
        edge_weight: Tensor | None = None,
        *,
        edge_index: Tensor | None = None,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Smoothed logits (n, out); the graph goes by the name edge_index too."""
        given = self.one_graph(graph, edge_index)
        if isinstance(self.backbone, MLP) or not sees_graph(self.backbone):
            return self.smooth(self.logits(x, noise=noise), given, edge_weight)
        rows = x.to_dense() if isinstance(x, SparseFeatures) else x
        return self.smooth(on_graph(self.backbone, rows, given, edge_weight), given, edge_weight)

    def smooth(self, logits: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None) -> Tensor:
        """The logits (n, c) after K elastic steps."""
        smoothed: Tensor = self.propagation(logits, graph, edge_weight)
        return smoothed


def sees_graph(backbone: nn.Module) -> bool:
    """Whether a module's forward takes an edge_index."""
    return "edge_index" in _argument_names(backbone)


def _argument_names(module: nn.Module) -> tuple[str, ...]:
    # a torch_geometric Sequential takes any arguments and keeps their names
    named = getattr(getattr(module, "signature", None), "param_dict", None)
    return tuple(signature(module.forward).parameters) if named is None else tuple(named)


def on_graph(
    backbone: nn.Module, x: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None
) -> Tensor:
    """backbone(x, edge_index) (n, out), with the weights if there are any."""
    index = graph
    if isinstance(graph, Graph):
        index, own = graph.to_edge_index()
        if edge_weight is None and not graph.is_unweighted:
            edge_weight = own.to(x.dtype)
        elif edge_weight is not None:
            edge_weight = edge_weight.repeat(2)
    if edge_weight is None:
        logits: Tensor = backbone(x, index)
        return logits
    if "edge_weight" not in _argument_names(backbone):
        raise ValueError("backbone must take an edge_weight where edges have weights")
    weighted: Tensor = backbone(x, index, edge_weight=edge_weight)
    return weighted


def takes_sparse(backbone: nn.Module) -> bool:
    """Whether the first thing that features meet is a layer for sparse ones."""
    if isinstance(backbone, nn.Sequential) and len(backbone) > 0:
        return takes_sparse(backbone[0])
    return isinstance(backbone, MLP | FeatureLinear)


def propagation(
    penalty: ElasticPenalty,
    K: int,
    *,
    learnable: bool | str = False,
    channels: int | None = None,
    directed: str = "error",
) -> EMP:
    """The layer of `penalty`; Parameters among its strengths are the layer's own."""
    lambda1, lambda2 = (
        float(value.detach()) if type(value) is Tensor and not value.requires_grad else value
        for value in (penalty.lambda1, penalty.lambda2)
    )
    own = channels if learnable == "channel" else None
    options: dict[str, Any] = {"concavity": penalty.concavity, "channels": own}
    return EMP(K, lambda1, lambda2, penalty.norm, learnable, directed=directed, **options)
