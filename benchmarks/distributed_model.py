"""The cost model of docs/scale.md: fitted to results/distributed.json, held against it, carried on.

    python benchmarks/distributed_model.py [--document docs/scale.md]

A step of a process: its edges x seconds per edge + 2 exchanges of (latency + bytes / bandwidth).
Prints the tables; with --document they take the place of those between the page's two marks.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

RESULT = Path(__file__).resolve().parent / "results" / "distributed.json"
MARKS = "<!-- model: begin -->", "<!-- model: end -->"
STEPS = 10  # of every call in the record
# name, seconds of latency, bytes a second: assumed, not measured
NETWORKS = (("10 Gbit/s, 0.1 ms", 1e-4, 1.25e9), ("1 Gbit/s, 5 ms", 5e-3, 1.25e8))
PLANS = ((1e8, 4), (1e9, 64))  # edges, machines
ROAD_EDGES_PER_NODE = 1.2
GRAPHS = {"speed": "road-like", "physics": "Coauthor Physics"}


def fit_line(points: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Latency (s) and bandwidth (bytes/s): relative least squares, so that small ones count."""
    sizes, seconds = map(np.array, zip(*points, strict=True))
    table = np.stack([1 / seconds, sizes / seconds], 1)
    (latency, per_byte), *_ = np.linalg.lstsq(table, np.ones(len(seconds)), rcond=None)
    return float(latency), float(1 / per_byte)


def exchange_line(record: dict[str, Any], way: str) -> tuple[float, float]:
    """Latency and bandwidth of exchanges through shared memory or through sockets."""
    widths = record["exchange"][way]["widths"].values()
    return fit_line((one["bytes"], one["seconds"]) for one in widths)


def seconds_per_edge(job: dict[str, Any], width: str) -> float:
    """Of one step of one process, by the clock."""
    (alone,) = job["1"]
    return min(alone[width]["wall"]) / (alone["edges"] * STEPS)


def rows_of(job: dict[str, Any]) -> list[str]:
    """The columns that were timed."""
    return [name for name, value in job["1"][0].items() if isinstance(value, dict)]


def predicted(job: dict[str, Any], width: str, line: tuple[float, float]) -> float:
    """Seconds of a call of two processes by the model: those of the slower one."""
    per_edge, (latency, bandwidth) = seconds_per_edge(job, width), line
    return max(
        STEPS * one["edges"] * per_edge + 2 * STEPS * latency + one[width]["bytes"] / bandwidth
        for one in job["2"]
    )


def measured(job: dict[str, Any], width: str) -> float:
    """Seconds of a call of two processes, of the slower one."""
    return max(min(one[width]["wall"]) for one in job["2"])


def against_record(record: dict[str, Any]) -> list[str]:
    """The model beside what was measured with two processes."""
    line = exchange_line(record, "shared")
    found = [
        "| graph | d | ns per edge and step | two processes, model | measured | measured / model |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, title in GRAPHS.items():
        for width in rows_of(record[name]):
            said, was = predicted(record[name], width, line), measured(record[name], width)
            edge = 1e9 * seconds_per_edge(record[name], width)
            cells = (title, width, f"{edge:.1f}", f"{said:.3g} s", f"{was:.3g} s")
            found.append(f"| {' | '.join(cells)} | {was / said:.2f} |")
    return found


def strip(record: dict[str, Any], edges: float) -> float:
    """Rows that one border of a strip of the road-like graph has, by its side's length."""
    job = record["speed"]
    here = job["2"][0]["halo"] / job["nodes"] ** 0.5
    return here * (edges / ROAD_EDGES_PER_NODE) ** 0.5


def carried_on(record: dict[str, Any]) -> list[str]:
    """Seconds per step of larger road-like graphs on machines of one such core each."""
    found = [
        "| edges | machines | d | network | one machine | each of them | exchange alone | gain |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for edges, machines in PLANS:
        for width in rows_of(record["speed"]):
            alone = edges * seconds_per_edge(record["speed"], width)
            sent = 2 * strip(record, edges) * int(width) * 4  # two borders
            for name, latency, bandwidth in NETWORKS:
                wire = 2 * (latency + sent / bandwidth)
                each = alone / machines + wire
                found.append(
                    f"| {edges:.0e} | {machines} | {width} | {name} | {alone:.3g} s | "
                    f"{each:.3g} s | {wire:.2g} s | {alone / each:.1f} |"
                )
    return found


def break_even(record: dict[str, Any]) -> list[str]:
    """How many edges' work one halo row costs: beyond that share a partition does not pay."""
    found = [
        "| d | network | a halo row costs the work of | halo rows per edge at which half is lost |",
        "| --- | --- | --- | --- |",
    ]
    for width in rows_of(record["physics"]):
        edge = seconds_per_edge(record["physics"], width)
        for name, _, bandwidth in NETWORKS:
            row = 2 * int(width) * 4 / bandwidth
            found.append(f"| {width} | {name} | {row / edge:.2g} edges | {edge / row:.2g} |")
    return found


def tables(record: dict[str, Any]) -> str:
    """All of it as Markdown."""
    lines = [
        f"{way}: {1e6 * latency:.0f} µs and {bandwidth / 1e9:.1f} GB/s"
        for way in ("shared", "sockets")
        for latency, bandwidth in [exchange_line(record, way)]
    ]
    parts = [
        [f"Exchanges of two processes on this machine, fitted: {'; '.join(lines)}."],
        against_record(record),
        carried_on(record),
        break_even(record),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def replaced(document: str, text: str) -> str:
    """The document with `text` between its marks."""
    before, rest = document.split(MARKS[0])
    return f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", type=Path)
    given = parser.parse_args()
    text = tables(json.loads(RESULT.read_text()))
    if given.document is not None:
        given.document.write_text(replaced(given.document.read_text(), text))
    print(text)


if __name__ == "__main__":
    main()
