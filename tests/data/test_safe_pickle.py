"""The Planetoid reader: reads plain arrays, and never runs what a file asks for."""

import collections
import os
import pickle
import struct

import numpy as np
import pytest
from scipy import sparse

from elasticgnn.data.safe_pickle import read_pickle


def write(tmp_path, content):
    path = tmp_path / "ind.crafted.x"
    path.write_bytes(content)
    return path


def old_names(content):
    """The pickle as an old Python wrote it: module names of then."""
    modern, old = b"scipy.sparse._csr", b"scipy.sparse.csr"
    return content.replace(b"numpy._core", b"numpy.core").replace(modern, old)


@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">i4", "<i8", "|u1", "|b1"])
def test_plain_arrays_are_read(tmp_path, dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    path = write(tmp_path, pickle.dumps(array, protocol=3))
    found = read_pickle(path)
    assert found.dtype == array.dtype
    assert (found == array).all()


def test_sparse_matrices_are_read(tmp_path):
    matrix = sparse.csr_matrix(np.eye(3))
    assert (
        read_pickle(write(tmp_path, pickle.dumps(matrix, protocol=3))).toarray() == np.eye(3)
    ).all()


def test_fortran_order_is_kept(tmp_path):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert (read_pickle(write(tmp_path, pickle.dumps(array, protocol=3))) == array).all()


def test_neighbour_lists_are_read(tmp_path):
    graph = collections.defaultdict(list, {0: [1, 2], 1: [0], 2: [0]})
    assert read_pickle(write(tmp_path, pickle.dumps(graph, protocol=2))) == dict(graph)


class Call:
    """Pickles as a call of any function, which is how a pickle runs code."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def touch(tmp_path):
    return f"touch {tmp_path / 'ran'}"


ATTACKS = {
    "a shell command": lambda p: pickle.dumps(Call(os.system, touch(p)), protocol=2),
    "a new process, newest protocol": lambda p: pickle.dumps(Call(os.popen, touch(p)), protocol=5),
    "eval": lambda p: pickle.dumps(Call(eval, f"open({str(p / 'ran')!r}, 'w')"), protocol=2),
    "exec inside a list": lambda p: pickle.dumps([1, Call(exec, "import os")], protocol=2),
    "opening a file": lambda p: pickle.dumps(Call(open, str(p / "ran"), "w"), protocol=4),
    "getattr": lambda p: pickle.dumps(Call(getattr, "x", "upper"), protocol=2),
    "a call hidden in neighbours": lambda p: pickle.dumps(
        {0: [Call(os.system, touch(p))]}, protocol=2
    ),
    "a call as array content": lambda p: pickle.dumps(
        np.array([Call(os.system, touch(p))], dtype=object), protocol=3
    ),
    "numpy's own loader": lambda p: b"\x80\x02cnumpy\nload\nX\x01\x00\x00\x00x\x85R.",
    "numpy's test runner": lambda p: b"\x80\x02cnumpy.testing._private.utils\nrunstring\n)R.",
    "dotted name through an allowed module": lambda p: (
        b"\x80\x04\x8c\x05numpy\x8c\x0dndarray.tofile\x93."
    ),
    "attributes put on an allowed class": lambda p: (
        b"\x80\x02cnumpy\ndtype\n}X\x01\x00\x00\x00aK\x01sb."
    ),
    "calling list": lambda p: b"\x80\x02c__builtin__\nlist\n)R.",
    "a registered extension": lambda p: b"\x80\x02\x82\x01.",
    "an outside object": lambda p: b"\x80\x02K\x07Q.",
    "an old style instance": lambda p: b"(S'" + touch(p).encode() + b"'\nios\nsystem\n.",
    "a plain dictionary of text": lambda p: pickle.dumps({"a": "b"}, protocol=2),
    "a truth value as a node": lambda p: pickle.dumps({0: [True]}, protocol=2),
    "text arrays": lambda p: pickle.dumps(np.array(["a"]), protocol=3),
    "not a pickle": lambda p: b"hello there",
    "an empty file": lambda p: b"",
    "half a file": lambda p: pickle.dumps(np.arange(99.0), protocol=3)[:200],
    "too large a length": lambda p: b"\x80\x02T" + struct.pack("<I", 2**31 - 1) + b"ab",
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("disguise", [bytes, old_names])
def test_crafted_files_are_refused_and_run_nothing(tmp_path, attack, disguise):
    content = disguise(ATTACKS[attack](tmp_path))
    with pytest.raises(ValueError, match=r"ind\.crafted\.x must be a"):
        read_pickle(write(tmp_path, content))
    assert not (tmp_path / "ran").exists()


def test_the_attacks_do_run_code_in_an_ordinary_unpickler(tmp_path):
    """Otherwise the test above would prove nothing."""
    pickle.loads(ATTACKS["a shell command"](tmp_path))
    assert (tmp_path / "ran").exists()


def array_pickle(shape, content):
    """A pickled float64 array whose shape and bytes need not agree."""
    header = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    minus_one = b"J\xff\xff\xff\xff"
    dtype = b"cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R(K\x03U\x01<NNN" + 2 * minus_one + b"K\x00tb"
    size = struct.pack("<I", len(content))
    return (
        header
        + b"(K\x01J"
        + struct.pack("<i", shape)
        + b"\x85"
        + dtype
        + b"\x89T"
        + size
        + content
        + b"tb."
    )


def test_the_hand_made_array_is_one(tmp_path):
    found = read_pickle(write(tmp_path, array_pickle(2, np.array([1.0, 2.0]).tobytes())))
    assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("shape", [0, 1, 3, 2**31 - 1, -7])
def test_shapes_that_do_not_fit_the_bytes_are_refused(tmp_path, shape):
    with pytest.raises(ValueError, match="must be a"):
        read_pickle(write(tmp_path, array_pickle(shape, np.array([1.0, 2.0]).tobytes())))


def test_matrices_that_point_outside_are_refused(tmp_path):
    matrix = sparse.csr_matrix(np.eye(2))
    matrix.indices[1] = 7
    with pytest.raises(ValueError, match="must be a pickle of plain numbers"):
        read_pickle(write(tmp_path, pickle.dumps(matrix, protocol=3)))
