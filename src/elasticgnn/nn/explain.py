"""EMP that torch_geometric's explainers can mask: `from elasticgnn.nn.explain import …`."""

import copy
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from elasticgnn.extras import optional_imports

with optional_imports():
    from torch_geometric.nn import MessagePassing

from elasticgnn.graph import Graph
from elasticgnn.nn.emp import EMP


class ExplainableEMP(EMP, MessagePassing):  # type: ignore[misc] # torch_geometric has no types
    """EMP as a MessagePassing layer: GNNExplainer and its like find it and set its edge mask.

    A mask has one number per column of the edge_index and multiplies the weights; the two
    directions of an edge act by their mean.
    """

    explain: bool | None = None  # set by the explainers, as _edge_mask and _apply_sigmoid are

    def forward(
        self,
        x: Tensor,
        edge_index: Graph | Tensor,
        edge_weight: Tensor | None = None,
        *,
        edge_strength: Tensor | None = None,
        return_dual: bool = False,
    ) -> Any:
        """What EMP gives, on the masked edges while an explainer is at work."""
        rest: dict[str, Any] = {"edge_strength": edge_strength, "return_dual": return_dual}
        mask: Tensor | None = getattr(self, "_edge_mask", None)
        if not self.explain or mask is None or isinstance(edge_index, Graph):
            return super().forward(x, edge_index, edge_weight, **rest)
        mask = mask.sigmoid() if self._apply_sigmoid else mask
        own, self.reading = self.reading, replace(self.reading, directed="symmetrize")
        try:
            masked = mask if edge_weight is None else mask * edge_weight
            return super().forward(x, edge_index, masked, **rest)
        finally:
            self.reading = own


def explainable(model: nn.Module) -> nn.Module:
    """A copy of `model` with an `ExplainableEMP` of the same settings for each of its EMP layers.

    >>> from elasticgnn.nn import EMP
    >>> from elasticgnn.nn.explain import explainable
    >>> type(explainable(torch.nn.Sequential(EMP()))[0]).__name__
    'ExplainableEMP'
    """
    model = copy.deepcopy(model)
    for part in model.modules():
        if type(part) is EMP:
            layer: Any = part
            layer.__class__ = ExplainableEMP
    return model
