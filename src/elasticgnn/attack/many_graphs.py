"""What a model predicts on many flipped graphs: by the compiled loops where they serve it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.attack.victim import call_model
from elasticgnn.data import NodeTask
from elasticgnn.kernels import native
from elasticgnn.nn import APPNP, GCN, ElasticGNN
from elasticgnn.nn.settings import lambda2_of
from elasticgnn.operator.flipped import (
    WIDEST,
    FlipLists,
    FlippedOutput,
    FlipTables,
    TwoLayers,
    convolutions_on_flipped,
    elastic_on_flipped,
)
from elasticgnn.problem import ElasticPenalty

Predictor = Callable[[FlipLists], Tensor]  # labels (lists, n), uint8
Smoother = Callable[[FlipLists], FlippedOutput]
MOST_ROWS = 1 << 22  # nodes (or their outputs) of all graphs of one call: bounds the memory


@torch.no_grad()
def predictor(model: nn.Module, task: NodeTask, offset: Tensor | None = None) -> Predictor:
    """A function from lists of flips of the task's graph to the labels that `model` gives.

    offset (classes,): added to the outputs of every node, as a calibration's bias is.

    Models that say `predict_flipped(task)` bring their own (None: they cannot for this task);
    ElasticGNN, APPNP and GCN go through the compiled loops, all others through one graph after the
    other.
    """
    model.eval()
    if offset is not None:
        return shifted_predictor(model, task, offset)
    own = getattr(model, "predict_flipped", None)
    made: Predictor | None = None if own is None else own(task)
    if made is not None:
        return in_parts(made, task.num_nodes)
    smoother = fast_smoother(model, task)
    if smoother is not None:
        fast = smoother
        return in_parts(lambda flips: fast(flips).label, task.num_nodes)
    return lambda flips: one_by_one(model, task, flips)


def shifted_predictor(model: nn.Module, task: NodeTask, offset: Tensor) -> Predictor:
    """The labels of outputs to which `offset` is added."""
    smoother = fast_smoother(model, task, rows=True)
    if smoother is None:
        return lambda flips: one_by_one(model, task, flips, offset)
    fast = smoother

    def predict(flips: FlipLists) -> Tensor:
        rows = fast(flips).rows
        assert rows is not None
        return (rows + offset).argmax(2).byte()

    return in_parts(predict, task.num_nodes * task.num_classes)


@torch.no_grad()
def fast_smoother(model: nn.Module, task: NodeTask, *, rows: bool = False) -> Smoother | None:
    """The compiled loops for `model`, or None where they do not serve it."""
    tables = flip_tables(task)
    if tables is None:
        return None
    if type(model) is ElasticGNN:  # one made from it may do something else
        x, penalty, steps = model.logits(task.features), model.penalty, model.K
    elif type(model) is APPNP:
        x, steps = model.logits(task.features), int(model.propagation.K)
        penalty = ElasticPenalty(0.0, lambda2_of(float(model.propagation.alpha)))
    elif type(model) is GCN:
        layers = gcn_layers(model, task)
        return lambda flips: convolutions_on_flipped(layers, tables, flips, rows=rows)
    else:
        return None
    if x.dtype != torch.float32 or penalty.edge_penalty.form is None:
        return None
    return lambda flips: elastic_on_flipped(x, tables, penalty, steps, flips, rows=rows)


def flip_tables(task: NodeTask) -> FlipTables | None:
    """The task's graph as the compiled loops read it, or None where they do not serve it."""
    graph = task.graph
    plain = graph.is_unweighted and graph.normalization == "degree"
    if native is None or not plain or task.num_classes > WIDEST:
        return None
    return FlipTables(graph)


def gcn_layers(model: GCN, task: NodeTask) -> TwoLayers:
    """The weights of a GCN as the loops read them."""
    first: Any = model.first
    second: Any = model.second
    weight2 = second.lin.weight.detach().T.contiguous()
    x: Tensor = model.linear(task.features)
    return TwoLayers(x.detach(), first.bias.detach(), weight2, second.bias.detach())


def in_parts(predict: Predictor, numbers: int) -> Predictor:
    """The same predictor, called for so many lists, of `numbers` each, as memory allows."""
    size = max(1, MOST_ROWS // max(numbers, 1))

    def call(flips: FlipLists) -> Tensor:
        if len(flips) <= size:
            return predict(flips)
        parts = []
        for low in range(0, len(flips), size):
            first = flips.first[low : low + size + 1]
            begin, end = int(first[0]), int(first[-1])
            parts.append(predict(FlipLists(flips.pairs[begin:end], first - begin)))
        return torch.cat(parts)

    return call


@torch.no_grad()
def one_by_one(
    model: nn.Module, task: NodeTask, flips: FlipLists, offset: Tensor | None = None
) -> Tensor:
    """The labels (lists, n) by the model's own forward on each graph."""
    labels = torch.empty(len(flips), task.num_nodes, dtype=torch.uint8)
    for number in range(len(flips)):
        graph = task.graph.with_edges_flipped(flips[number])
        outputs = call_model(model, task.features, graph)
        labels[number] = (outputs if offset is None else outputs + offset).argmax(1).byte()
    return labels
