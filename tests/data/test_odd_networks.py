"""Graphs of other programs whose numbers or ids are no numbers or ids of ours."""

import json

import pytest

from elasticgnn.data import read_task


def node_link(folder, nodes, edges):
    path = folder / "g.json"
    links = [dict(zip(("source", "target", "weight"), edge, strict=False)) for edge in edges]
    path.write_text(json.dumps({"nodes": nodes, "edges": links}))
    return path


def test_a_weight_beyond_all_numbers_is_refused(tmp_path):
    path = node_link(tmp_path, [{"id": 0}, {"id": 1}], [(0, 1, 10**400)])
    with pytest.raises(ValueError, match=r"g\.json, edge 1: weight must be a finite number"):
        read_task(path)


@pytest.mark.parametrize("value", [10**400, 1e300, float("nan"), float("-inf")])
def test_a_number_of_a_node_that_is_not_finite_is_refused_by_name(tmp_path, value):
    path = node_link(tmp_path, [{"id": 0, "x": 1}, {"id": 1, "x": value}], [(0, 1)])
    message = r"g\.json, node '1', attribute 'x': must be a finite number, got "
    with pytest.raises(ValueError, match=message):
        read_task(path)


def test_an_attribute_that_some_nodes_lack_is_no_feature(tmp_path):
    nodes = [{"id": 0, "x": 1, "y1": 2.5}, {"id": 1, "x": None, "y1": 3}, {"id": 2, "y1": 4}]
    task = read_task(node_link(tmp_path, nodes, [(0, 1), (1, 2)]))
    assert task.feature_names == ("y1",)
    assert task.features.tolist() == [[2.5], [3.0], [4.0]]


def test_ids_that_are_equal_as_text_are_not_taken_for_one_node(tmp_path):
    path = node_link(tmp_path, [{"id": 1}, {"id": "1"}, {"id": 2}], [(1, 2), ("1", 2)])
    with pytest.raises(ValueError, match=r"g\.json must have ids that differ as text, got '1'"):
        read_task(path)
