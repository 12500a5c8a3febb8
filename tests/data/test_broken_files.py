"""Broken files of one's own: each is one clear line that names the file, and the place in it."""

import re

import pytest

from broken_files import BROKEN, GOOD_EDGES, write_with
from elasticgnn.data import read_task


def assert_one_line(error, file, message):
    text = str(error.value)
    assert re.search(file + message, text), text
    assert "\n" not in text
    assert len(text) < 400


def test_the_good_files_are_good(tmp_path):
    assert read_task(*write_with(tmp_path, "edges", GOOD_EDGES)).num_classes == 2


@pytest.mark.parametrize("what", BROKEN)
def test_broken_tables_are_refused_in_one_line(tmp_path, what):
    file, content, message = BROKEN[what]
    paths = write_with(tmp_path, file, content)
    with pytest.raises(ValueError, match=r"\S") as error:
        read_task(*paths)
    assert_one_line(error, rf"{file}\.csv", message)
