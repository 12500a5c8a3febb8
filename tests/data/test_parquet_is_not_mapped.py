"""Parquet is read, not mapped: a mapped file that is cut off meanwhile ends the process."""

import os
import resource
import sys
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from elasticgnn.data import read_task

GIGABYTE = 1 << 30


def put_hole(path: Path) -> None:
    """Moves the footer of a Parquet file 4 GB away from its rows; the disk stores no zeros."""
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    with path.open("r+b") as file:
        file.seek(4 * GIGABYTE)
        file.write(content[-footer:])


@pytest.fixture
def one_more_gigabyte():
    """Address space for this process, but not enough to map the file."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (taken + GIGABYTE, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
def test_a_file_larger_than_the_address_space_is_read(tmp_path, one_more_gigabyte):
    path = tmp_path / "edges.parquet"
    parquet.write_table(pyarrow.table({"source": ["a", "b"], "target": ["b", "c"]}), path)
    put_hole(path)
    assert path.stat().st_size > 4 * GIGABYTE
    assert read_task(path).node_ids == ("a", "b", "c")
