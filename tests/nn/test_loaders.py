"""Mini-batches as torch_geometric's loaders make them: sampled sub-graphs with single directions.

NeighborLoader is NodeLoader with a sampler of pyg-lib or torch-sparse. Where neither is installed
the same NodeLoader runs with the sampler below, so that its batches have the same form.
"""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader, NodeLoader, RandomNodeLoader
from torch_geometric.sampler import BaseSampler, SamplerOutput
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE
from torch_geometric.utils import to_undirected

from elasticgnn import Graph
from elasticgnn.nn import EMP, ElasticGNN, ElasticStack
from strategies import normal_rows, random_graph


class InNeighbours(BaseSampler):
    """For every node reached so far up to `fanout` of its in-neighbours, once per hop."""

    def __init__(self, data, fanouts):
        self.source, self.target = data.edge_index
        self.fanouts = fanouts

    def sample_from_nodes(self, index, **_):
        nodes, rows, columns, kept = index.node.tolist(), [], [], []
        frontier = list(nodes)
        for fanout in self.fanouts:
            reached = []
            for node in frontier:
                entering = (self.target == node).nonzero().flatten()
                chosen = entering[torch.randperm(len(entering))]
                for edge in chosen[: fanout if fanout >= 0 else None].tolist():
                    neighbour = int(self.source[edge])
                    if neighbour not in nodes:
                        nodes.append(neighbour)
                        reached.append(neighbour)
                    rows.append(nodes.index(neighbour))
                    columns.append(nodes.index(node))
                    kept.append(edge)
            frontier = reached
        parts = (torch.tensor(part, dtype=torch.long) for part in (nodes, rows, columns, kept))
        return SamplerOutput(*parts, metadata=(index.input_id, index.time))

    def sample_from_edges(self, index, **_):
        raise NotImplementedError


def loader(data, fanouts, batch_size):
    if WITH_PYG_LIB or WITH_TORCH_SPARSE:
        return NeighborLoader(data, fanouts, batch_size=batch_size)
    return NodeLoader(data, InNeighbours(data, fanouts), batch_size=batch_size)


@pytest.fixture
def data():
    index, _ = random_graph(24, 60).to_edge_index()
    x = normal_rows(24, 3)
    return Data(x=x, edge_index=index, y=(x[:, 0] > 0).long())


def test_sampled_directions_are_refused_unless_they_are_to_be_read_as_edges(data):
    torch.manual_seed(0)
    batch = next(iter(loader(data, [2, 2], 4)))
    assert batch.is_directed()
    with pytest.raises(ValueError, match="symmetrize"):
        EMP(4, 0.3, 1.0)(batch.x, batch.edge_index)
    found = EMP(4, 0.3, 1.0, directed="symmetrize")(batch.x, batch.edge_index)
    both = Graph.from_edge_index(to_undirected(batch.edge_index), batch.num_nodes)
    torch.testing.assert_close(found, EMP(4, 0.3, 1.0)(batch.x, both))


def test_sampling_every_neighbour_gives_the_rows_of_the_whole_graph(data):
    whole = EMP(4, 0.3, 1.0)(data.x, data.edge_index)
    layer = EMP(4, 0.3, 1.0, directed="symmetrize")
    for batch in loader(data, [-1] * 24, 6):
        seeds = batch.n_id[: batch.batch_size]
        torch.testing.assert_close(
            layer(batch.x, batch.edge_index)[: batch.batch_size], whole[seeds]
        )


@pytest.mark.parametrize("make", [ElasticGNN, ElasticStack])
def test_a_network_trains_on_sampled_batches(data, make):
    torch.manual_seed(0)
    model = make(3, 8, 2, dropout=0.0, K=3, directed="symmetrize").double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(15):
        for batch in loader(data, [3, 3], 8):
            seeds = slice(batch.batch_size)
            logits = model(batch.x, batch.edge_index)[seeds]
            loss = torch.nn.functional.cross_entropy(logits, batch.y[seeds])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert sum(losses[-3:]) < sum(losses[:3])


def test_random_parts_of_a_graph_are_graphs(data):
    for batch in RandomNodeLoader(data, num_parts=3):
        graph = Graph.from_edge_index(batch.edge_index, batch.num_nodes)
        layer = EMP(4, 0.3, 1.0)
        torch.testing.assert_close(layer(batch.x, batch.edge_index), layer(batch.x, graph))
