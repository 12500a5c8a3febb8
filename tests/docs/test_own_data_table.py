"""The table of docs/own_data_measured.md is what its record says."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "own_data_measured.md").read_text("utf-8")
RESULTS = ROOT / "benchmarks" / "results"


def records(name):
    return json.loads((RESULTS / name).read_text("utf-8"))


@pytest.mark.parametrize("name", ["own_data.json", "real_data.json"])
def test_the_tables_are_printed_from_their_record(name):
    words = [sys.executable, ROOT / "benchmarks" / "own_data_table.py", RESULTS / name]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    draws, aims = done.stdout.strip().split("\n\n")
    assert len(draws.splitlines()) == 2 + sum(row["seed"] == 0 for row in records(name))
    assert draws in PAGE
    assert aims in PAGE


def test_every_draw_counts_for_every_aim():
    table = runpy.run_path(str(ROOT / "benchmarks" / "own_data_table.py"))
    rows = records("own_data.json")
    worse = dict.fromkeys(("less than the best rival by", "calibration error"), 0.06)
    rows.append(rows[0] | worse | {"inside": False, "coverage of 90 %": 0.87})
    for (aim, count, others), (_, before, _) in zip(
        table["counted"](rows), table["counted"](rows[:-1]), strict=True
    ):
        assert count == f"{before.split()[0]} of {len(rows)}", aim
        assert others.endswith(f"{rows[0]['data']} (0)")


def test_the_sentences_above_it_count_what_it_holds():
    rows = records("own_data.json")
    behind = [f"{100 * row['less than the best rival by']:.1f}" for row in rows]
    ahead = sorted(points for points in behind if float(points) > 0)
    assert (
        f"The best rival is ahead in {len(ahead)} of {len(rows)}, by {ahead[-1]} points at" in PAGE
    )
    largest = max(row["calibration error"] or 0.0 for row in rows)
    assert f"the largest calibration error is {100 * largest:.1f} %" in PAGE
    seconds = [row["seconds"] for row in rows]
    assert f"`tune` took {min(seconds):.0f} to {max(seconds):.0f} s." in PAGE


def test_the_sentences_about_real_graphs_count_what_their_record_holds():
    rows = records("real_data.json")
    behind = [100 * row["less than the best rival by"] for row in rows]
    ahead = [points for points in behind if f"{points:.1f}" > "0.0"]
    assert (
        f"The best rival is ahead in {len(ahead)} of {len(rows)}, by {max(behind):.1f} poi" in PAGE
    )
    (missed,) = [row for row in rows if not row["inside"]]
    value, low, high = (f"{100 * x:.1f}" for x in (missed["tuned"], *missed["estimate"][1:]))
    assert f"is {value} with {low} to {high} printed" in PAGE
