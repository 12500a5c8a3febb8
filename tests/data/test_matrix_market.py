"""Matrix Market files: what scipy reads of good ones, and a refusal for all others."""

import gzip

import numpy as np
import pytest
from scipy import io, sparse

from elasticgnn.data import read_task
from elasticgnn.data.own.matrix_market import read_matrix

GOOD = {
    "general": "%%MatrixMarket matrix coordinate real general\n% c\n\n3 3 2\n1 2 0.5\n3 3 -1e2\n",
    "symmetric": "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 4\n3 3 5\n",
    "skew": "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4\n",
    "pattern": "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 2\n2 3\n",
    "empty": "%%MatrixMarket matrix coordinate real general\n3 3 0\n",
    "array": "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
    "half": "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
    "skew half": "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
}


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_file_is_the_matrix_that_scipy_reads(tmp_path, kind):
    path = tmp_path / "m.mtx"
    path.write_text(GOOD[kind])
    expected = sparse.coo_array(io.mmread(path)).toarray()
    found = read_matrix(path)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.toarray(), expected)


HEAD = b"%%MatrixMarket matrix coordinate real general\n"
BAD = {
    "bytes behind the last entry": HEAD
    + b"3 3 2\n1 2 0.5\n2 3 1\x97)\x8f\xcb\xb4?\x97\x87\x9c|\xa2",
    "more entries than the file has": HEAD + b"3 3 22147483648\n1 2 0.5\n",
    "more nodes than the file has": HEAD + b"99999999999 99999999999 1\n1 2 0.5\n",
    "negative sizes": HEAD + b"-3 -3 1\n1 2 0.5\n",
    "an entry outside": HEAD + b"3 3 1\n4 1 0.5\n",
    "an entry at 0": HEAD + b"3 3 1\n0 1 0.5\n",
    "half a node": HEAD + b"3 3 1\n1.5 1 0.5\n",
    "too few entries": HEAD + b"3 3 2\n1 2 0.5\n",
    "too few columns": HEAD + b"3 3 1\n1 2\n",
    "two sizes": HEAD + b"3 3\n1 2 0.5\n",
    "complex": b"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 0.5 1\n",
    "too few values": b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
    "half of no square": b"%%MatrixMarket matrix array real symmetric\n3 2\n1\n2\n3\n4\n5\n",
    "no square": HEAD + b"3 2 1\n1 2 0.5\n",
}


@pytest.mark.parametrize("kind", BAD)
def test_a_damaged_file_is_refused_by_name(tmp_path, kind):
    path = tmp_path / "m.mtx"
    path.write_bytes(BAD[kind])
    with pytest.raises(ValueError, match=r"m\.mtx"):
        read_task(path)


def test_a_packed_table_that_grows_without_bounds_is_refused(tmp_path):
    path = tmp_path / "e.csv.gz"
    path.write_bytes(gzip.compress(b"1,1\n" * (26 << 20)))
    with pytest.raises(ValueError, match=r"e\.csv\.gz must unpack to at most 104857600 bytes"):
        read_task(path)
