"""Rows of a comparison: what is stored stays, what cannot be true is refused."""

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from elasticgnn.robustness.store import Row, Rows, read_rows

ROW = Row("evasion", 0, 0.1, "prbcd", "gcn", "own", {"gcn": 0.8}, 3, 1.0)
LINE = json.dumps(asdict(ROW)) + "\n"
FULL_DISK = """
import resource, signal
from pathlib import Path
from elasticgnn.robustness.store import Row, Rows
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
rows = Rows(Path('rows.jsonl'))
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
rows.add(Row("evasion", 1, 0.1, "prbcd", "gcn", "own", {"gcn": 0.8}))
"""


def test_a_row_that_finds_no_room_leaves_the_others_as_they_were(tmp_path):
    (tmp_path / "rows.jsonl").write_text(LINE)
    words = [sys.executable, "-c", FULL_DISK]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "File too large: 'rows.jsonl'" in done.stderr
    assert (tmp_path / "rows.jsonl").read_text() == LINE


def test_reading_changes_nothing_and_a_new_row_begins_behind_a_cut_one(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(LINE + LINE[:30])
    rows = Rows(path)
    assert path.read_text() == LINE + LINE[:30]
    other = Row("evasion", 1, 0.1, "prbcd", "gcn", "own", {"gcn": 0.7})
    rows.add(other)
    assert path.read_text().startswith(LINE + LINE[:30] + "\n{")
    assert list(read_rows(path)) == [ROW, other]


def test_a_link_in_the_place_of_the_rows_is_not_written_through(tmp_path):
    (tmp_path / "mine").write_text(LINE)
    (tmp_path / "rows.jsonl").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match=r"symbolic links.*rows\.jsonl"):
        Rows(tmp_path / "rows.jsonl").add(ROW)
    assert (tmp_path / "mine").read_text() == LINE


@pytest.mark.parametrize(
    "wrong",
    [
        {"accuracy": "x"},
        {"accuracy": {"gcn": "x"}},
        {"accuracy": {"gcn": 7}},
        {"accuracy": {"gcn": None}},
        {"accuracy": {"gcn": float("nan")}},
        {"rate": "a"},
        {"rate": float("inf")},
        {"rate": -0.1},
        {"seed": None},
        {"seed": 0.5},
        {"flips": True},
        {"training": 3},
        {"training": {"gcn": "x"}},
        {"source": [1]},
        {"more": 1},
    ],
)
def test_a_row_that_cannot_be_true_is_refused_with_its_line(tmp_path, wrong):
    path = tmp_path / "rows.jsonl"
    path.write_text(LINE + json.dumps(asdict(ROW) | wrong) + "\n")
    with pytest.raises(ValueError, match=r"line 2 of .*rows\.jsonl must be a row"):
        Rows(path)


@pytest.mark.parametrize("content", [b"[" * 100_000, b"1" * 10_000, b"[]", b"\xff\xfe"])
def test_what_is_no_row_at_all_is_refused_with_its_file(tmp_path, content):
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.jsonl must be a"):
        Rows(tmp_path / "rows.jsonl")
