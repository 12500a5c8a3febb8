"""Tasks whose edges all weigh the same, as attacks take them."""

from __future__ import annotations

from dataclasses import replace

import torch

from elasticgnn.data.task import NodeTask
from elasticgnn.graph import Graph


def without_weights(task: NodeTask) -> NodeTask:
    """The task whose edges all weigh 1, as those have that an attack adds; a note says so."""
    graph = task.graph
    if graph.is_unweighted:
        return task
    ends = torch.stack([graph.tail, graph.head])[:, graph.weight > 0]
    equal = Graph.from_edge_index(ends, graph.num_nodes, undirected=True)
    note = "weights are left aside: an attack adds and removes edges of weight 1"
    return replace(task.with_graph(equal), notes=(*task.notes, f"{task.name}: {note}"))
