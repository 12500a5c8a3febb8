"""A graph as the table of edges that `read_task` reads."""

from collections.abc import Hashable, Sequence
from pathlib import Path

from elasticgnn.files import csv_text, write_whole
from elasticgnn.graph import Graph


def write_edges(path: Path, graph: Graph, ids: Sequence[Hashable]) -> None:
    """Writes source,target[,weight] by the names of the nodes; weights unless all are 1."""
    weights = [] if graph.is_unweighted else [graph.weight.tolist()]
    columns = [[ids[i] for i in part.tolist()] for part in (graph.tail, graph.head)]
    names = ("source", "target", "weight")[: 2 + len(weights)]
    write_whole(path, csv_text(names, zip(*columns, *weights, strict=True)))
