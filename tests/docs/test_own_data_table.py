"""The table of docs/own_data_measured.md is what its record says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "own_data_measured.md").read_text("utf-8")
RESULTS = ROOT / "benchmarks" / "results"


@pytest.mark.parametrize("name", ["own_data.json", "real_data.json"])
def test_the_table_is_printed_from_its_record(name):
    words = [sys.executable, ROOT / "benchmarks" / "own_data_table.py", RESULTS / name]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2 + len(json.loads((RESULTS / name).read_text("utf-8")))
    assert done.stdout.strip() in PAGE


def test_the_sentences_above_it_count_what_it_holds():
    rows = json.loads((RESULTS / "own_data.json").read_text("utf-8"))
    inside = sum(row["inside"] for row in rows)
    assert f"inside the printed interval in {inside} of {len(rows)};" in PAGE
    behind = sorted(100 * row["less than the best rival by"] for row in rows)
    ahead = [f"{points:.1f}" for points in behind if points > 0]
    assert f"the best rival is ahead in {len(ahead)} of them, by {' and '.join(ahead)} poi" in PAGE
    largest = max(row["calibration error"] or 0.0 for row in rows)
    assert f"The largest calibration error is {100 * largest:.1f} %" in PAGE
    seconds = [row["seconds"] for row in rows]
    assert f"`tune` took {min(seconds):.0f} to {max(seconds):.0f} s." in PAGE
    missed = [row for row in rows if abs(row["coverage of 90 %"] - 0.9) > 0.02]
    names = ", ".join(f"{row['data']} ({100 * row['coverage of 90 %']:.2f})" for row in missed)
    assert f"by more than 2 points in {len(missed)} of {len(rows)}, {names}" in PAGE


def test_the_sentences_about_real_graphs_count_what_their_record_holds():
    rows = json.loads((RESULTS / "real_data.json").read_text("utf-8"))
    assert all(row["less than the best rival by"] < 0 for row in rows)
    assert "No rival is ahead." in PAGE
    inside = sum(row["inside"] for row in rows)
    assert f"The result is inside the printed interval in {inside} of {len(rows)}:" in PAGE
