"""The graph of an edge list on a device: every look at a value waits, so there is one per call."""

from collections.abc import MutableMapping
from dataclasses import asdict, dataclass

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from elasticgnn.graph import Graph
from elasticgnn.graph.on_device import edges_on_device
from elasticgnn.graph.once import is_traced, lasting, may_need_gradient
from elasticgnn.nn.reading import Reading


@dataclass(frozen=True)
class _Built:
    """A graph, and copies of what it was built from."""

    index: Tensor
    weight: Tensor | None
    reading: Reading
    graph: Graph

    def is_of(self, num_nodes: int, reading: Reading) -> bool:
        """Whether the graph has so many nodes, and was read in that way."""
        return self.graph.num_nodes == num_nodes and self.reading == reading

    def fits(self, index: Tensor, weight: Tensor | None) -> bool:
        """Whether edges and weights are still the same: one look, whatever is compared."""
        pairs = [(self.index, index)]
        if self.weight is not None and weight is not None:
            pairs.append((self.weight, weight))
        if (self.weight is None) != (weight is None):
            return False
        if any(a.dtype != b.dtype or a.shape != b.shape or a.device != b.device for a, b in pairs):
            return False
        same = torch.stack([(a == b).all() for a, b in pairs])
        return bool(same.all())


# By the identity of the tensor that holds the edges: an entry dies with it.
_built: MutableMapping[Tensor, _Built] = WeakTensorKeyDictionary()


def device_graph(
    index: Tensor, num_nodes: int, weight: Tensor | None, reading: Reading, owner: Tensor
) -> Graph:
    """The graph of the edges; the last one of `owner` where nothing changed.

    Weights that are learned build a graph at every call, which is one look too.
    """
    learned = weight is not None and may_need_gradient(weight)
    if learned or is_traced() or owner.is_inference():
        return _build(index, num_nodes, weight, reading)
    known = _built.get(owner)
    if known is not None and known.is_of(num_nodes, reading) and known.fits(index, weight):
        return known.graph
    with lasting():
        graph = _build(index, num_nodes, weight, reading)
        copied = None if weight is None else weight.detach().clone()
        _built[owner] = _Built(index.detach().clone(), copied, reading, graph)
    return graph


def _build(index: Tensor, num_nodes: int, weight: Tensor | None, reading: Reading) -> Graph:
    built = edges_on_device(index, num_nodes, weight, False, reading.directed)
    if built is None:  # the ordinary way says what is wrong
        return Graph.from_edge_index(index, num_nodes, weight, **asdict(reading))
    normalization = reading.normalization
    return Graph(built.edges, built.num_nodes, normalization=normalization, unit=built.unit)
