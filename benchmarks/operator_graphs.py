"""The graphs of the operator's benchmark: the real ones where the data are, else of their size."""

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from elasticgnn import Graph


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    num_nodes: int
    num_edges: int
    width: int
    dataset: str | None = None


CASES = (
    Case("Cora", 2708, 5278, 7, "cora"),
    Case("PubMed", 19717, 44324, 3, "pubmed"),
    Case("Coauthor Physics", 34493, 247962, 5, "coauthor-physics"),
    Case("arXiv-sized", 169343, 1166243, 40),
)


def power_law_graph(num_nodes: int, num_edges: int, seed: int = 0) -> Graph:
    """Exactly `num_edges` random edges; node k is drawn in proportion to (k + 10)^-0.7."""
    generator = torch.Generator().manual_seed(seed)
    share = (torch.arange(num_nodes, dtype=torch.float64) + 10).pow(-0.7)
    share = share[torch.randperm(num_nodes, generator=generator)]
    total = share.cumsum(0)
    keys = torch.empty(0, dtype=torch.int64)
    while len(keys) < num_edges:
        wanted = int(1.3 * (num_edges - len(keys))) + 100
        draw = torch.rand(2, wanted, generator=generator, dtype=torch.float64) * total[-1]
        ends = torch.searchsorted(total, draw).clamp(max=num_nodes - 1).sort(0).values
        ends = ends[:, ends[0] < ends[1]]
        keys = torch.unique(torch.cat([keys, ends[0] * num_nodes + ends[1]]))
    keys = keys[torch.randperm(len(keys), generator=generator)[:num_edges]]
    index = torch.stack([keys // num_nodes, keys % num_nodes])
    return Graph.from_edge_index(index, num_nodes, undirected=True)


def load_graph(case: Case) -> tuple[Graph, bool]:
    """The case's graph, and whether it is the real one."""
    root = os.environ.get("ELASTICGNN_DATA")
    if case.dataset and (root or case.dataset == "cora"):
        from elasticgnn.data import load

        task = load(case.dataset, root=Path(root)) if root else load(case.dataset)
        return task.graph, True
    return power_law_graph(case.num_nodes, case.num_edges), False
