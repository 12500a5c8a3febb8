"""Files that are not what their name says: each is one clear line that names the file."""

import re

import numpy as np
import pytest
from scipy import sparse

from elasticgnn.data import read_task


def assert_one_line(error, file, message):
    text = str(error.value)
    assert re.search(file + message, text), text
    assert "\n" not in text
    assert len(text) < 400


def write_npz(path, **arrays):
    np.savez(path, **arrays)


INDEX = np.array([[0, 1], [1, 2]])
BROKEN_FILES = {
    "missing file": ("edges.csv", lambda p: None, r" must be a file, got nothing of that name"),
    "folder": ("edges.csv", lambda p: p.mkdir(), r" must be a file, got a folder"),
    "unknown ending": ("edges.doc", lambda p: p.write_text("x"), r" must end in .*got '\.doc'"),
    "junk xlsx": ("edges.xlsx", lambda p: p.write_text("x"), r" must be an Excel workbook, got"),
    "no ending": ("edges", lambda p: p.write_text("a,b"), r" must end in .*got 'no ending'"),
    "junk npz": ("edges.npz", lambda p: p.write_bytes(b"junk"), r" must be a numpy \.npz archive"),
    "half an npz": (
        "edges.npz",
        lambda p: (write_npz(p, edge_index=INDEX), p.write_bytes(p.read_bytes()[:100])),
        r" must be a numpy \.npz archive",
    ),
    "npz of objects only": (
        "edges.npz",
        lambda p: write_npz(p, edge_index=np.array([{}], dtype=object)),
        r" must hold edges, got none",
    ),
    "npz without edges": ("edges.npz", lambda p: write_npz(p, other=INDEX), r" must hold edges"),
    "npz with fractions": (
        "edges.npz",
        lambda p: write_npz(p, edge_index=INDEX + 0.5),
        r": edge_index must be \(2, E\) whole numbers",
    ),
    "npz with negative nodes": (
        "edges.npz",
        lambda p: write_npz(p, edge_index=-INDEX),
        r": edge_index must name nodes from 0 on",
    ),
    "npz with a NaN weight": (
        "edges.npz",
        lambda p: write_npz(p, edge_index=INDEX, edge_weight=np.array([1, np.nan])),
        r", row 1: weight must be a finite number",
    ),
    "npz with too few weights": (
        "edges.npz",
        lambda p: write_npz(p, edge_index=INDEX, edge_weight=np.ones(3)),
        r": edge_weight must be \(2,\), got \(3,\)",
    ),
    "npz with NaN features": (
        "edges.npz",
        lambda p: write_npz(p, edge_index=INDEX, x=np.full((3, 2), np.nan)),
        r", row 0, column 0: a feature must be a finite number, got nan",
    ),
    "npz with too few features": (
        "edges.npz",
        lambda p: write_npz(p, edge_index=INDEX, x=np.ones((2, 2))),
        r", row 1, column 'target': the node must have features",
    ),
    "npz with a matrix that is not square": (
        "edges.npz",
        lambda p: sparse.save_npz(p, sparse.csr_array(np.ones((2, 3)))),
        r": the adjacency matrix must be square, got \(2, 3\)",
    ),
    "npz with a broken matrix": (
        "edges.npz",
        lambda p: write_npz(
            p,
            data=np.ones(1),
            indices=np.array([9]),
            indptr=np.array([0, 1]),
            shape=np.array([1, 1]),
        ),
        r" must hold a valid matrix",
    ),
    "no XML": ("edges.graphml", lambda p: p.write_text("<graphml"), r" must be GraphML"),
    "other XML": (
        "edges.graphml",
        lambda p: p.write_text("<html/>"),
        r" must be GraphML, got .*'html'",
    ),
    "GraphML with an unknown node": (
        "edges.graphml",
        lambda p: p.write_text(
            "<graphml><graph><node id='a'/><edge source='a' target='b'/></graph></graphml>"
        ),
        r", edge 1: unknown node id 'b'",
    ),
    "GraphML without edges": (
        "edges.graphml",
        lambda p: p.write_text("<graphml><graph><node id='a'/></graph></graphml>"),
        r" must have edges, got 1 nodes and none",
    ),
    "junk Parquet": (
        "edges.parquet",
        lambda p: p.write_bytes(b"junk" * 9),
        r" must be a Parquet file",
    ),
}


@pytest.mark.parametrize("what", BROKEN_FILES)
def test_files_that_are_not_what_they_seem_are_refused_in_one_line(tmp_path, what):
    name, write, message = BROKEN_FILES[what]
    write(tmp_path / name)
    with pytest.raises(ValueError, match=r"\S") as error:
        read_task(tmp_path / name)
    assert_one_line(error, re.escape(name), message)


def test_an_entity_bomb_in_graphml_does_not_explode(tmp_path):
    levels = "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(12))
    bomb = f'<!DOCTYPE graphml [<!ENTITY e0 "lol">{levels}]><graphml>&e12;</graphml>'
    path = tmp_path / "edges.graphml"
    path.write_text(bomb)
    with pytest.raises(ValueError, match="must"):
        read_task(path)
