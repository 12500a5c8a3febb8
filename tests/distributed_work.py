"""What the processes of these tests do; called in each of them by `processes.work`."""

from itertools import product
from pathlib import Path
from unittest.mock import patch

import torch
import torch.distributed as dist

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.data import NodeTask
from elasticgnn.distributed import (
    DistributedGraph,
    PartitionFolder,
    elastic_message_passing,
    fit_parts,
    loops,
    partition,
)
from elasticgnn.features import SparseFeatures
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan

NORMS, DTYPES, DIVISIONS = (
    ("l21", "l1", "mcp"),
    ("float32", "float64"),
    ("metis", "blocks", "random"),
)
WIDTHS = {"float32": 5, "float64": 13}
PARTS = 7
STEPS = 3


def small_graph(weighted: bool = False) -> Graph:
    """A ring of 40 nodes with chords, a few isolated nodes, and a hub."""
    generator = torch.Generator().manual_seed(3)
    ring = torch.stack([torch.arange(40), (torch.arange(40) + 1) % 40])
    chords = torch.randint(40, (2, 60), generator=generator)
    hub = torch.stack([torch.full((12,), 44), torch.arange(0, 36, 3)])
    index = torch.cat([ring, chords, hub], 1)
    index = torch.unique(index[:, index[0] != index[1]].sort(0).values, dim=1)
    graph = Graph.from_edge_index(index, 46, undirected=True)
    if not weighted:
        return graph
    return graph.with_weight(0.2 + torch.rand(graph.num_edges, generator=generator).double())


def small_task(sparse: bool = False) -> NodeTask:
    """The small graph with three classes that its features hint at."""
    generator = torch.Generator().manual_seed(11)
    labels = torch.arange(46) // 4 % 3
    features = torch.rand(46, 12, generator=generator) * (torch.arange(12) % 3 == labels[:, None])
    features += 0.3 * (torch.rand(46, 12, generator=generator) > 0.7)
    held = SparseFeatures.from_dense(features) if sparse else features
    names = ("a", "b", "c")
    return NodeTask("small", small_graph(weighted=True), held, labels, names)


def division(graph: Graph, method: str) -> torch.Tensor:
    if method != "random":
        return partition(graph, PARTS, method=method)
    generator = torch.Generator().manual_seed(5)
    order = torch.randperm(graph.num_nodes, generator=generator)
    return (order % PARTS).to(torch.int32)


def rows_of(count: int, width: int, seed: int) -> torch.Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed)).double()


def propagate(graph: Graph, method: str, norm: str, dtype: str) -> dict[str, torch.Tensor]:
    """Signal, gradients of x, of edge weights and of the lambdas; rows by global id."""
    held = DistributedGraph.from_graph(graph, division(graph, method))
    number, width = getattr(torch, dtype), WIDTHS[dtype]
    x = rows_of(graph.num_nodes, width, 0)[held.nodes].to(number).requires_grad_()
    seed = rows_of(graph.num_nodes, width, 1)[held.nodes].to(number)
    edges = held.edges
    spot = torch.searchsorted(
        graph.tail * graph.num_nodes + graph.head, edges[:, 0] * graph.num_nodes + edges[:, 1]
    )
    weight = graph.weight[spot].clone().requires_grad_()
    lambdas = torch.tensor([0.3, 2.0], dtype=number).requires_grad_()
    penalty = ElasticPenalty(lambdas[0], lambdas[1], norm)
    signal = elastic_message_passing(x, held, penalty, STEPS, edge_weight=weight)
    dx, dw, dl = torch.autograd.grad(signal, (x, weight, lambdas), seed)
    plain = x.detach().requires_grad_()
    alone = elastic_message_passing(plain, held, ElasticPenalty(0.3, 2.0, norm), STEPS)
    (dx_alone,) = torch.autograd.grad(alone, plain, seed)
    with patch.object(loops, "SAVED_BYTES", 0):  # steps are not saved but run again
        again = elastic_message_passing(plain, held, ElasticPenalty(0.3, 2.0, norm), STEPS)
        (dx_again,) = torch.autograd.grad(again, plain, seed)
    assert torch.equal(dx_again, dx_alone)
    found = {"nodes": held.nodes, "signal": signal.detach(), "dx": dx, "dx_alone": dx_alone}
    return {**found, "edges": spot, "dw": dw, "lambdas": dl}


def every_case(folder: Path) -> dict[tuple[str, ...], dict[str, torch.Tensor]]:
    """All norms, precisions and divisions; an odd process uses two threads."""
    torch.set_num_threads(1 + (dist.get_rank() % 2 if dist.is_initialized() else 0))
    found = {}
    for norm, dtype, method in product(NORMS, DTYPES, DIVISIONS):
        found[norm, dtype, method] = propagate(small_graph(norm == "l21"), method, norm, dtype)
    return found


MODELS = ("elastic", "appnp", "mlp", "gcn", "sgc")
PLAN = TrainingPlan(epochs=4)


def every_model(folder: Path) -> dict[str, tuple[dict[str, torch.Tensor], tuple[float, ...]]]:
    """Weights and curves of every model, trained on the folder `parts` beside this one."""
    opened = PartitionFolder(folder.parent / "parts")
    found = {}
    for name in MODELS:
        settings = ModelSettings(name, hidden_channels=8, steps=3, lambda1=0.5)
        trained = fit_parts(opened, settings, PLAN, seed=2)
        history = trained.history
        curves = (*history.loss, *history.val_loss, *history.val_curve, *history.test_curve)
        found[name] = (trained.model.state_dict(), curves)
    return found


def unequal_weights(folder: Path) -> str:
    """What the operator says of weights that differ in one cut edge between two processes."""
    graph = small_graph()
    held = DistributedGraph.from_graph(graph, division(graph, "blocks"))
    edges = held.edges
    cut = (torch.isin(edges, held.nodes).sum(1) == 1).nonzero()[:, 0]
    first = cut[(edges[cut, 0] * graph.num_nodes + edges[cut, 1]).argmin()]
    weight = torch.ones(len(edges), dtype=torch.float64)
    weight[first] += dist.get_rank()
    x = rows_of(graph.num_nodes, 2, 0)[held.nodes]
    try:
        elastic_message_passing(x, held, ElasticPenalty(), 1, edge_weight=weight)
    except ValueError as error:
        return str(error)
    return ""


def many_exchanges(folder: Path) -> tuple[bool, list[int]]:
    """Whether memory is shared, and which of many exchanges brought other rows than the owners'."""
    graph, generator = small_graph(), torch.Generator().manual_seed(0)
    held = DistributedGraph.from_graph(graph, division(graph, "random"))
    local, wrong = held.local, []
    for repeat in range(200):
        width = int(torch.randint(1, 40, (1,), generator=generator))
        padded = width + repeat % 3
        expected = torch.randn(graph.num_nodes, padded, generator=generator)
        rows = expected[torch.from_numpy(local.nodes)]
        rows[local.owned :] = float("nan")
        held.exchange.start(rows, width).finish()
        if not torch.equal(rows[:, :width], expected[torch.from_numpy(local.nodes)][:, :width]):
            wrong.append(repeat)
    return bool(held.exchange.shared), wrong


def two_exchanges_under_way(folder: Path) -> tuple[bool, int]:
    """Whether memory is shared, and rows that are wrong where a second exchange begins early."""
    graph = small_graph()
    held = DistributedGraph.from_graph(graph, division(graph, "random"))
    local, wrong = held.local, 0
    nodes = torch.from_numpy(local.nodes).to(torch.float32)[:, None]
    for repeat in range(100):
        pair = [nodes + number for number in (repeat, -repeat)]
        expected = [rows.clone() for rows in pair]
        for rows in pair:
            rows[local.owned :] = float("nan")
        for pending in [held.exchange.start(rows, 1) for rows in pair]:
            pending.finish()
        wrong += sum(int((one != other).sum()) for one, other in zip(pair, expected, strict=True))
    return bool(held.exchange.shared), wrong


def apart(folder: Path) -> dict[str, str]:
    """What is said where one process has another graph, partition folder or settings."""
    rank, graph = dist.get_rank(), small_graph()
    other = division(graph, ("metis", "blocks")[rank])
    opened = PartitionFolder(folder.parent / f"parts{rank}")
    same, settings = PartitionFolder(folder.parent / "parts0"), ModelSettings("mlp", 4)
    calls = {
        "graph": lambda: DistributedGraph.from_graph(graph, other),
        "folder": lambda: opened.graph(),
        "settings": lambda: fit_parts(same, ModelSettings("mlp", 4 + rank), PLAN),
        "seed": lambda: fit_parts(same, settings, PLAN, seed=rank),
    }
    found = {}
    for name, call in calls.items():
        try:
            call()
        except ValueError as error:
            found[name] = str(error)
    return found


def in_a_subgroup(folder: Path) -> dict[str, torch.Tensor] | None:
    """Signal, gradients and trained weights of processes 1 and 2 alone, without process 0."""
    group = dist.new_group([1, 2])
    if dist.get_rank() == 0:
        return None
    graph = small_graph()
    held = DistributedGraph.from_graph(graph, division(graph, "blocks"), group=group)
    x = rows_of(graph.num_nodes, 5, 0)[held.nodes].requires_grad_()
    lambdas = torch.tensor([0.3, 2.0]).double().requires_grad_()
    weight = torch.ones(len(held.edges), dtype=torch.float64)
    penalty = ElasticPenalty(lambdas[0], lambdas[1])
    signal = elastic_message_passing(x, held, penalty, STEPS, edge_weight=weight)
    dx, dl = torch.autograd.grad(signal.sum(), (x, lambdas))
    return {"nodes": held.nodes, "signal": signal.detach(), "dx": dx, "lambdas": dl}
