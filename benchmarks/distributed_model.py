"""The cost model of docs/scale.md: fitted to results/distributed.json, held against it, carried on.

A step of a process: its edges x seconds per edge + 2 exchanges of (latency + bytes / bandwidth).
`distributed_tables.py` prints the tables and puts them into the page.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

STEPS = 10  # of every call in the record
BYTES = 4  # of a number
# name, seconds of latency, bytes a second: assumed, not measured
NETWORKS = (("10 Gbit/s, 0.1 ms", 1e-4, 1.25e9), ("1 Gbit/s, 5 ms", 5e-3, 1.25e8))
PLANS = ((1e8, 4), (1e9, 64))  # edges, machines
ROAD_EDGES_PER_NODE = 1.2
GRAPHS = {"speed": "road-like", "physics": "Coauthor Physics"}
GAINS = ("road-like", "Coauthor Physics", "power law")  # graphs whose halos were counted
Record = dict[str, Any]


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown; columns of the head are divided by bars."""
    lines = [f"| {head} |", "| " + " | ".join("---" for _ in head.split("|")) + " |"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def fit_line(points: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Latency (s) and bandwidth (bytes/s): relative least squares, so that small ones count."""
    sizes, seconds = map(np.array, zip(*points, strict=True))
    terms = np.stack([1 / seconds, sizes / seconds], 1)
    (latency, per_byte), *_ = np.linalg.lstsq(terms, np.ones(len(seconds)), rcond=None)
    return float(latency), float(1 / per_byte)


def exchange_line(record: Record, way: str) -> tuple[float, float]:
    """Latency and bandwidth of exchanges through shared memory or through sockets."""
    widths = record["exchange"][way]["widths"].values()
    return fit_line((one["bytes"], one["seconds"]) for one in widths)


def exchanges(record: Record) -> str:
    """What an exchange costs by way, and what it was measured to take."""
    rows = []
    for way, title in (("shared", "shared memory"), ("sockets", "sockets of one machine")):
        latency, bandwidth = exchange_line(record, way)
        found = record["exchange"][way]["widths"]
        times = [f"{1e3 * found[width]['seconds']:.2f} ms" for width in ("1", "16", "256")]
        rows.append([title, f"{1e6 * latency:.0f} µs", f"{bandwidth / 1e9:.1f} GB/s", *times])
    head = "through | latency | bandwidth | measured at d = 1 | d = 16 | d = 256"
    return table(head, rows)


def seconds_per_edge(job: Record, width: str) -> float:
    """Of one step of one process, by the clock."""
    (alone,) = job["1"]
    return min(alone[width]["wall"]) / (alone["edges"] * STEPS)


def widths_of(job: Record) -> list[str]:
    """The columns that were timed."""
    return [name for name, value in job["1"][0].items() if isinstance(value, dict)]


def predicted(job: Record, width: str, line: tuple[float, float]) -> float:
    """Seconds of a call of two processes by the model: those of the slower one."""
    per_edge, (latency, bandwidth) = seconds_per_edge(job, width), line
    return max(
        STEPS * one["edges"] * per_edge + 2 * STEPS * latency + one[width]["bytes"] / bandwidth
        for one in job["2"]
    )


def measured(job: Record, width: str) -> float:
    """Seconds of a call of two processes, of the slower one."""
    return max(min(one[width]["wall"]) for one in job["2"])


def against_record(record: Record) -> str:
    """The model beside what was measured with two processes."""
    line, rows = exchange_line(record, "shared"), []
    for name, title in GRAPHS.items():
        job = record[name]
        for width in widths_of(job):
            expected, was = predicted(job, width, line), measured(job, width)
            edge = f"{1e9 * seconds_per_edge(job, width):.1f}"
            rows.append(
                [title, width, edge, f"{expected:.3g} s", f"{was:.3g} s", f"{was / expected:.2f}"]
            )
    return table(
        "graph | d | ns per edge and step | two processes, model | measured | measured / model",
        rows,
    )


def strip(record: Record, edges: float) -> float:
    """Rows that one border of a strip of the road-like graph has, by its side's length."""
    job = record["speed"]
    here = job["2"][0]["halo"] / job["nodes"] ** 0.5
    return here * (edges / ROAD_EDGES_PER_NODE) ** 0.5


def carried_on(record: Record) -> str:
    """Seconds per step of larger road-like graphs in strips, on machines of one such core each."""
    rows = []
    for edges, machines in PLANS:
        for width in widths_of(record["speed"]):
            alone = edges * seconds_per_edge(record["speed"], width)
            sent = 2 * strip(record, edges) * int(width) * BYTES  # two borders
            for name, latency, bandwidth in NETWORKS:
                wire = 2 * (latency + sent / bandwidth)
                each = alone / machines + wire
                size = f"10{'⁸' if edges == 1e8 else '⁹'}", str(machines), width, name
                seconds = f"{alone:.3g} s", f"{each:.3g} s", f"{wire:.2g} s"
                rows.append([*size, *seconds, f"{alone / each:.1f}"])
    return table(
        "edges | machines | d | network | one machine | each of them | exchange alone | gain",
        rows,
    )


def gain(record: Record, graph: str, row: Record) -> float:
    """Of P machines over one on a graph so large that latency is nothing, 10 Gbit/s, widest d."""
    job = record["speed" if graph == GRAPHS["speed"] else "physics"]
    width = widths_of(job)[-1]
    edge, bandwidth = seconds_per_edge(job, width), NETWORKS[0][2]
    wire = 2 * row["largest_sent"] * int(width) * BYTES / bandwidth
    return record["halo"][graph]["edges"] * edge / (row["largest_edges"] * edge + wire)


def partitions(record: Record) -> str:
    """Cut edges, halo and work by graph, method and number of parts, and what they leave."""
    rows = []
    for graph in GAINS:
        job = record["halo"][graph]
        for row in job["rows"]:
            if row["method"] != "metis" and row["parts"] != 4:
                continue  # the others are in the record
            work = row["largest_edges"] * row["parts"] / job["edges"]
            shares = f"{100 * row['cut']:.2g} %", f"{row['halo']:.2g}", f"{work:.2f}"
            cells = graph, row["method"], str(row["parts"]), *shares
            rows.append([*cells, f"{gain(record, graph, row):.1f}"])
    return table(
        "graph | method | parts | cut edges | halo rows per node | heaviest part's edges / ideal | "
        "gain by the model",
        rows,
    )


def largest_gains(record: Record) -> str:
    """What METIS leaves of the largest number of machines, and of two on the worst graph."""
    found = {
        (graph, row["parts"]): gain(record, graph, row)
        for graph in GAINS
        for row in record["halo"][graph]["rows"]
        if row["method"] == "metis"
    }
    most = max(parts for _, parts in found)
    roads, social, power = (found[graph, most] for graph in GAINS)
    return (
        f"By METIS {most} machines gain {roads:.0f} on roads, {social:.0f} on Coauthor Physics and "
        f"{power:.1f} on the power law, where two gain {found['power law', 2]:.2f}."
    )
