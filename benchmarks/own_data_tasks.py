"""Tasks unlike the paper's: ten kinds of graphs, features and labels, drawn or cut from others."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from elasticgnn.data import NodeTask, load
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph


def random_graph(n: int, m: int, rng: np.random.Generator, pair: Callable | None = None) -> Graph:
    """About m random edges; `pair(a, b)` is the chance of keeping one."""
    ends = rng.integers(0, n, (2, 8 * m if pair else m))
    if pair is not None:
        ends = ends[:, rng.random(ends.shape[1]) < pair(*ends)][:, :m]
    ends = ends[:, ends[0] != ends[1]]
    return Graph.from_edge_index(torch.from_numpy(ends), n, undirected=True)


def make_task(name: str, graph: Graph, x: np.ndarray, y: np.ndarray) -> NodeTask:
    classes = tuple(str(k) for k in range(int(y.max()) + 1))
    return NodeTask(name, graph, torch.from_numpy(x).float(), torch.from_numpy(y).long(), classes)


def neighbour_sums(graph: Graph, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of the neighbours' values, and how many there are, at least 1."""
    total, degree = np.zeros(graph.num_nodes), np.zeros(graph.num_nodes)
    for a, b in ((graph.tail, graph.head), (graph.head, graph.tail)):
        np.add.at(total, a.numpy(), values[b.numpy()])
        np.add.at(degree, a.numpy(), 1)
    return total, np.maximum(degree, 1)


def neighbours_decide(rng: np.random.Generator, n: int = 8000) -> NodeTask:
    """Unbalanced two classes: the mean of the neighbours' first feature, own features useless."""
    graph, x = random_graph(n, 4 * n, rng), rng.normal(size=(n, 10))
    total, degree = neighbour_sums(graph, x[:, 0])
    signal = total / np.sqrt(degree) + 0.3 * rng.normal(size=n)
    return make_task(
        "neighbours decide", graph, x, (signal > np.quantile(signal, 0.85)).astype(int)
    )


def mines(rng: np.random.Generator, side: int = 90) -> NodeTask:
    """A field of squares, a fifth of them mines: half of the squares show how many are around."""
    n, mine = side * side, (rng.random((side, side)) < 0.2).astype(int)
    cell = np.arange(n).reshape(side, side)
    ends = [[cell[:, :-1], cell[:, 1:]], [cell[:-1], cell[1:]]]
    ends += [[cell[:-1, :-1], cell[1:, 1:]], [cell[:-1, 1:], cell[1:, :-1]]]
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in ends], axis=1)
    graph = Graph.from_edge_index(torch.from_numpy(pairs), n, undirected=True)
    around = neighbour_sums(graph, mine.ravel().astype(float))[0].astype(int)
    shown = rng.random(n) < 0.5
    return make_task("mines", graph, np.eye(10)[np.where(shown, around, 9)], mine.ravel())


def heterophilous(rng: np.random.Generator, n: int = 5000) -> NodeTask:
    """Edges lead to the next class; features say a little."""
    y = rng.integers(0, 5, n)
    graph = random_graph(n, 5 * n, rng, lambda a, b: np.where(y[b] == (y[a] + 1) % 5, 1.0, 0.05))
    return make_task("heterophilous", graph, np.eye(5)[y] + 1.2 * rng.normal(size=(n, 5)), y)


def useless_features(rng: np.random.Generator, n: int = 4000) -> NodeTask:
    y = rng.integers(0, 4, n)
    graph = random_graph(n, 4 * n, rng, lambda a, b: np.where(y[a] == y[b], 1.0, 0.1))
    return make_task("useless features", graph, 100 * rng.normal(size=(n, 20)), y)


def useless_edges(rng: np.random.Generator, n: int = 4000) -> NodeTask:
    y = rng.integers(0, 4, n)
    x = np.eye(4)[y] @ rng.normal(size=(4, 20)) + 2.0 * rng.normal(size=(n, 20))
    return make_task("useless edges", random_graph(n, 4 * n, rng), 30 + 7 * x, y)


def nineteen_classes(rng: np.random.Generator, n: int = 10000) -> NodeTask:
    """Classes of very different size, joined mostly within, weak words."""
    y = rng.choice(19, n, p=(w := 1 / np.arange(1, 20)) / w.sum())
    graph = random_graph(n, 4 * n, rng, lambda a, b: np.where(y[a] == y[b], 1.0, 0.08))
    words = rng.random((n, 190)) < np.where(np.arange(190) % 19 == y[:, None], 0.06, 0.03)
    task = make_task("19 classes", graph, words.astype(np.float32), y)
    return replace(task, features=SparseFeatures.from_dense(task.features))


def cut(name: str, rng: np.random.Generator) -> NodeTask:
    """A data set of the paper with half of its edges replaced by random ones."""
    task = load(name)
    keep = rng.random(task.graph.num_edges) < 0.5
    ends = torch.stack([task.graph.tail, task.graph.head])[:, torch.from_numpy(keep)]
    noise = torch.from_numpy(rng.integers(0, task.num_nodes, (2, int((~keep).sum()))))
    every = torch.cat([ends, noise[:, noise[0] != noise[1]]], dim=1)
    graph = Graph.from_edge_index(every, task.num_nodes, undirected=True)
    return replace(task, graph=graph, name=f"{name}, half the edges random", split=None)


def large(rng: np.random.Generator, n: int = 560_000) -> NodeTask:
    """As many nodes as a company has customers; three classes, joined mostly within."""
    y = rng.integers(0, 3, n)
    graph = random_graph(n, 820_000, rng, lambda a, b: np.where(y[a] == y[b], 1.0, 0.2))
    return make_task("560,000 nodes", graph, np.eye(3)[y] + 2.0 * rng.normal(size=(n, 3)), y)


def numbers(rng: np.random.Generator, n: int = 4000) -> NodeTask:
    """A regression: own feature and the mean of the neighbours' decide."""
    graph, x = random_graph(n, 4 * n, rng), rng.normal(size=(n, 10))
    total, degree = neighbour_sums(graph, x[:, 0])
    y = 500 + 40 * (x[:, 1] + 2 * total / degree + 0.3 * rng.normal(size=n))
    task = make_task("numbers", graph, x, np.zeros(n, dtype=np.int64))
    unknown = torch.full((n,), -1)
    return replace(task, labels=unknown, class_names=(), values=torch.from_numpy(y))


MAKERS: dict[str, Callable[[np.random.Generator], NodeTask]] = {
    "neighbours": neighbours_decide,
    "mines": mines,
    "heterophilous": heterophilous,
    "features": useless_features,
    "edges": useless_edges,
    "classes": nineteen_classes,
    "numbers": numbers,
    "large": large,
    "cora": lambda rng: cut("cora", rng),
    "photo": lambda rng: cut("amazon-photo", rng),
}
