"""A small made-up task on which every model learns something."""

import torch

from elasticgnn.data import NodeTask, Split, share_split
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph


def small_task(classes: int = 3, n: int = 90, seed: int = 0) -> NodeTask:
    """Nodes i of class i mod `classes`, joined mostly within, with hints in sparse features."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % classes
    draws = torch.rand(n, n, generator=generator).triu(1)
    same = labels[:, None] == labels[None, :]
    joined = (draws > torch.where(same, 0.9, 0.985)).triu(1)
    graph = Graph.from_edge_index(joined.nonzero().T, n, undirected=True)
    columns = 8 * classes
    hint = (torch.arange(columns) % classes)[None, :] == labels[:, None]
    words = torch.rand(n, columns, generator=generator) < torch.where(hint, 0.35, 0.15)
    features = SparseFeatures.from_dense(words.float())
    names = tuple(f"class {c}" for c in range(classes))
    return NodeTask("small", graph, features, labels, names)


def small_split(task: NodeTask, seed: int = 0) -> Split:
    generator = torch.Generator().manual_seed(seed)
    return share_split(task.labels, generator, train=0.2, val=0.3)
