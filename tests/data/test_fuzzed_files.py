"""Randomly damaged files: a task comes out, or a ValueError; never anything else."""

import io
import pickle
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from elasticgnn.data import read_task
from elasticgnn.data.safe_pickle import read_pickle

CSV = b'source,target,weight\nann,bob,1\n"bob",cy,2\ncy,dan,0.5\n'
GRAPHML = (
    b"<graphml><key id='w' for='edge' attr.name='weight' attr.type='double'/><graph>"
    b"<node id='a'/><node id='b'/><edge source='a' target='b'><data key='w'>2</data></edge>"
    b"</graph></graphml>"
)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


ARCHIVE = npz(edge_index=np.array([[0, 1], [1, 2]]), x=np.eye(3), y=np.array([0, 1, -1]))
MATRIX = pickle.dumps(sparse.csr_matrix(np.eye(3)), protocol=3)


@st.composite
def damaged(draw, content):
    """The content with a few bytes changed, cut out or put in."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        length = draw(st.integers(0, 4))
        data[place : place + length] = draw(st.binary(max_size=4))
    return bytes(data)


def refusal(read, name, content):
    """What the ValueError says, or None when the file was read; other errors pass through."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            read(path)
        except ValueError as error:
            return str(error)
    return None


def read_or_refuse(name, content):
    message = refusal(read_task, name, content)
    assert message is None or (name in message and "\n" not in message)


FUZZ = settings(max_examples=150, deadline=None)


@FUZZ
@given(damaged(CSV))
def test_damaged_csv(content):
    read_or_refuse("edges.csv", content)


@FUZZ
@given(damaged(GRAPHML))
def test_damaged_graphml(content):
    read_or_refuse("edges.graphml", content)


@FUZZ
@given(damaged(ARCHIVE))
def test_damaged_npz(content):
    read_or_refuse("edges.npz", content)


@FUZZ
@given(damaged(MATRIX))
def test_damaged_pickle(content):
    message = refusal(read_pickle, "ind.cora.x", content)
    assert message is None or "ind.cora.x must be a" in message
