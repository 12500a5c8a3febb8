"""Planetoid's way of storing a graph, on three nodes."""

import numpy as np
from scipy import sparse

from elasticgnn.data.planetoid import graph_from_neighbours, place_labels, place_rows, public_split

TEST = np.array([4, 2])  # node 3 has no row anywhere


def test_rows_of_the_test_part_go_where_the_index_says():
    allx, tx = sparse.csr_array([[1.0], [2.0]]), sparse.csr_array([[3.0], [4.0]])
    assert place_rows(allx, tx, TEST, 5).toarray().flatten().tolist() == [1, 2, 4, 0, 3]


def test_labels_are_unknown_without_a_row_or_with_an_empty_one():
    ally, ty = np.array([[0, 1], [0, 0]]), np.array([[1, 0], [0, 1]])
    assert place_labels(ally, ty, TEST, 5).tolist() == [1, -1, 1, -1, 0]


def test_repeated_and_self_neighbours_make_a_simple_graph():
    graph = graph_from_neighbours({0: [1, 1, 0], 1: [0, 2], 2: []}, 4)
    assert (graph.tail.tolist(), graph.head.tolist()) == ([0, 1], [1, 2])
    assert graph.weight.tolist() == [1, 1]
    assert graph.num_nodes == 4


def test_the_public_split_takes_the_first_nodes_and_the_test_list():
    split = public_split(3, np.array([900, 800]))
    assert split.train.tolist() == [0, 1, 2]
    assert (split.val.tolist()[0], split.val.tolist()[-1]) == (3, 502)
    assert split.test.tolist() == [800, 900]
