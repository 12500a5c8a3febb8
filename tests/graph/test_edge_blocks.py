"""Blocks of edges: every edge in the one of its tail, as many as the graph alone says."""

import pytest
import torch

from elasticgnn.graph import Graph
from elasticgnn.graph.edge_blocks import block_edges, count_blocks
from elasticgnn.kernels.tuning import MOST_BLOCKS
from strategies import random_graph


@pytest.mark.parametrize("blocks", [1, 2, 4, 8])
def test_every_edge_lies_in_the_block_of_its_tail(blocks):
    graph = random_graph(50, 600)
    made = block_edges(graph.tail, graph.head, 50, blocks)
    assert torch.equal(made.tail.long(), graph.tail)
    assert torch.equal(made.head.long(), graph.head)
    assert made.first_node[[0, -1]].tolist() == [0, 50]
    assert made.first_edge[[0, -1]].tolist() == [0, graph.num_edges]
    of_tail = torch.bucketize(graph.tail, made.first_node[1:-1], right=True)
    of_edge = torch.bucketize(torch.arange(graph.num_edges), made.first_edge[1:-1], right=True)
    assert torch.equal(of_tail, of_edge)


def test_the_blocks_have_about_equally_many_edges():
    graph = random_graph(500, 20_000)
    counts = block_edges(graph.tail, graph.head, 500, 4).first_edge.diff()
    assert int(counts.max() - counts.min()) < 0.1 * graph.num_edges


def test_nodes_without_edges_behind_the_last_tail_belong_to_the_last_block():
    graph = Graph.from_edges([(0, 1), (1, 2)], num_nodes=9)
    made = block_edges(graph.tail, graph.head, 9, 2)
    assert made.first_node.tolist() == [0, 1, 9]
    assert made.first_edge.tolist() == [0, 1, 2]
    assert made.end_node.tolist() == [2, 9]


@pytest.mark.parametrize(
    ("nodes", "edges", "blocks"),
    [(50, 500, 1), (5000, 30_000, 2), (1000, 30_000, 4), (9, 10**6, 8)],
)
def test_the_graph_alone_decides_the_blocks(nodes, edges, blocks):
    assert count_blocks(nodes, edges) == blocks <= MOST_BLOCKS


def test_chunks_do_not_cross_blocks():
    graph = random_graph(50, 600)
    blocks = block_edges(graph.tail, graph.head, 50, 4)
    counts = blocks.first_edge.diff().tolist()
    assert blocks.num_chunks(7) == sum(-(-count // 7) for count in counts)
