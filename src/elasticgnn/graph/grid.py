"""The graph of a picture."""

import torch

from elasticgnn.graph.graph import Graph


def grid_graph(height: int, width: int, normalization: str = "none") -> Graph:
    """Every pixel joined to the ones beside and below it, numbered row by row.

    >>> from elasticgnn.graph import grid_graph
    >>> grid_graph(2, 3).num_edges
    7
    """
    pixel = torch.arange(height * width).view(height, width)
    across = torch.stack([pixel[:, :-1].flatten(), pixel[:, 1:].flatten()])
    down = torch.stack([pixel[:-1].flatten(), pixel[1:].flatten()])
    index = torch.cat([across, down], 1)
    return Graph.from_edge_index(
        index, height * width, undirected=True, normalization=normalization
    )
