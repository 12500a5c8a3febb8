"""Refusals and readings of own files that faults put into the code survived."""

import json

import networkx as nx
import numpy as np
import pytest

from elasticgnn.data.own.ids import IdIndex
from elasticgnn.data.own.networks import read_network
from elasticgnn.data.signal_files import read_signal


def test_a_signal_needs_a_column_beside_its_ids(tmp_path):
    (tmp_path / "s.csv").write_text("id\na\nb\n")
    with pytest.raises(ValueError, match="must have a column of node ids and one of values"):
        read_signal(tmp_path / "s.csv")


def test_a_network_without_edges_is_refused(tmp_path):
    path = tmp_path / "g.json"
    path.write_text(json.dumps({"nodes": [{"id": "a"}, {"id": "b"}], "edges": []}))
    with pytest.raises(ValueError, match="must have edges, got none"):
        read_network(path, ".json")


@pytest.mark.parametrize("weight", ["-1.0", "+INF"])
def test_a_network_with_a_weight_that_is_none_is_refused_by_its_edge(tmp_path, weight):
    path = tmp_path / "g.gml"
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c", weight=3.0)
    nx.write_gml(graph, path)
    path.write_text(path.read_text().replace("3.0", weight))
    with pytest.raises(ValueError, match=r"edge 2.*weight must be a finite number >= 0"):
        read_network(path, ".gml")


def test_numbers_are_found_at_their_places_whatever_they_begin_with():
    for known in ([0, 1, 2], [2, 0, 1], [-1, 1], [5, 9]):
        ids = np.array(known)
        assert IdIndex(ids).find(ids).tolist() == list(range(len(known)))
        assert IdIndex(ids).find(np.array([7])).tolist() == [-1]
