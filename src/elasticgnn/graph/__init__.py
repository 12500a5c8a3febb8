"""Graphs: immutable, validated, the one place that knows edge order."""

from elasticgnn.graph.graph import Graph as Graph
from elasticgnn.graph.grid import grid_graph as grid_graph
from elasticgnn.graph.slots import Slots as Slots
