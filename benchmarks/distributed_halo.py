"""What partitions cost before anything runs: cut edges, halo rows and the heaviest part's edges."""

import numpy as np
import torch
from distributed_graphs import road_graph
from operator_graphs import power_law_graph

from elasticgnn import Graph
from elasticgnn.data import load
from elasticgnn.distributed import partition

PARTS = (2, 4, 8, 16, 32, 64)
METHODS = ("metis", "blocks", "random")


def graphs() -> dict[str, Graph]:
    """A road-like graph, a social one that has communities, and one of its size that has none."""
    social = load("coauthor-physics").graph
    return {
        "road-like": road_graph(1_000_000),
        "Coauthor Physics": social,
        "power law": power_law_graph(social.num_nodes, social.num_edges),
    }


def divided(graph: Graph, parts: int, method: str) -> np.ndarray:
    """The part of each node; "random": equally many nodes each."""
    if method == "random":
        order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
        return (order % parts).numpy()
    return partition(graph, parts, method=method).numpy()


def halo_of(graph: Graph, part: np.ndarray, parts: int) -> dict[str, float]:
    """Shares of the whole graph; "largest": those of the part that has most."""
    tail, head = graph.tail.numpy(), graph.head.numpy()
    cut = part[tail] != part[head]
    near, far = (np.concatenate(pair) for pair in ((tail, head), (head, tail)))
    crossing = np.concatenate([cut, cut])
    pairs = np.unique(part[near[crossing]].astype(np.int64) * graph.num_nodes + far[crossing])
    halo = np.bincount(pairs // graph.num_nodes, minlength=parts)
    sent = np.bincount(part[pairs % graph.num_nodes], minlength=parts)
    edges = np.bincount(part[tail], minlength=parts) + np.bincount(part[head[cut]], minlength=parts)
    return {
        "cut": float(cut.mean()),
        "halo": len(pairs) / graph.num_nodes,
        "largest_halo": int(halo.max()),
        "largest_sent": int(sent.max()),
        "largest_edges": int(edges.max()),
    }


def measure_halo() -> dict[str, object]:
    """Every graph by every method in every number of parts; a process holds one part."""
    found: dict[str, object] = {}
    for name, graph in graphs().items():
        rows = [
            {"parts": parts, "method": how, **halo_of(graph, divided(graph, parts, how), parts)}
            for how in METHODS
            for parts in PARTS
        ]
        found[name] = {"nodes": graph.num_nodes, "edges": graph.num_edges, "rows": rows}
    return found
