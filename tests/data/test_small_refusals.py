"""Refusals and readings of own files that faults put into the code survived."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas
import pytest

from elasticgnn.data.own.arrow_csv import open_plain
from elasticgnn.data.own.edge_table import looks_like_edge_header
from elasticgnn.data.own.feature_table import read_feature_table
from elasticgnn.data.own.ids import IdIndex
from elasticgnn.data.own.layout import TableLayout
from elasticgnn.data.own.networks import read_network
from elasticgnn.data.own.table import Table
from elasticgnn.data.signal_files import read_signal, write_signal


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


@pytest.mark.parametrize(("cells", "is_header"), [(["c1", "dave"], False), (["c1", "d2"], True)])
def test_words_above_ids_are_a_header_only_if_both_ends_have_a_digit(cells, is_header):
    table = Table(Path("e.csv"), None, [["ann", "bob"], cells], range(1, 3))
    assert looks_like_edge_header(table) is is_header


def test_yes_and_no_are_one_and_zero_in_a_column_of_both_kinds(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("id,a,b\nx,true,yes\ny,false,no\nz,true,yes\n")
    rows = read_feature_table(path, TableLayout())
    assert np.asarray(rows.values).tolist() == [[1, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize(("text", "delimiter"), [("a b\n", " "), ("a\tb c\n", "\t")])
def test_large_text_files_are_split_at_tabs_where_there_are_any(tmp_path, text, delimiter):
    path = tmp_path / "e.txt"
    path.write_text(text + text.replace("a", "c"))  # a first row that recurs is a header
    assert open_plain(path, smallest=0).delimiter == delimiter


def test_a_duplicate_id_of_a_parquet_file_is_named_with_its_row(tmp_path):
    path = tmp_path / "f.parquet"
    pandas.DataFrame({"id": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]}).to_parquet(path)
    with pytest.raises(ValueError, match="row 3"):
        read_feature_table(path, TableLayout())


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".xlsx"])
def test_a_signal_is_written_in_the_format_of_its_ending(tmp_path, ending):
    given, path = tmp_path / "s.csv", tmp_path / f"out{ending}"
    given.write_text("id,x,v\na,1,0.5\nb,2,1.5\n")
    signal = read_signal(given)
    write_signal(path, signal, np.array([[3.0, 4.0], [5.0, 6.0]]))
    back = read_signal(path)
    assert back.values.tolist() == [[3, 4], [5, 6]]
    assert back.columns == signal.columns
