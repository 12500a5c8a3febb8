"""The tables of docs/scale.md out of results/distributed.json.

    python benchmarks/distributed_tables.py [--document docs/scale.md]

Prints them; with --document they take the places that the page marks for them.
"""

import argparse
import json
from pathlib import Path

from distributed_model import (
    GRAPHS,
    Record,
    against_record,
    carried_on,
    exchanges,
    largest_gains,
    partitions,
    table,
    widths_of,
)

RESULT = Path(__file__).resolve().parent / "results" / "distributed.json"
GIGABYTE = 1e9


def speed(record: Record) -> str:
    """Two processes of one thread against one, and against the operator for one process."""
    rows = []
    for name, title in GRAPHS.items():
        job = record[name]
        for width in widths_of(job):
            found = job["ratios"][width]
            gains = [f"{found[key]:.2f}" for key in ("wall", "cpu", "single_wall")]
            sent = [f"{found[key]:,}" for key in ("bytes", "bytes_of_model")]
            rows.append([f"{title}, {job['1'][0]['edges']:,} edges", width, *gains, *sent])
    head = "graph | d | faster by the clock | in processor time | than the operator for one process"
    return table(f"{head} | bytes a call (K = 10) | by the model", rows)


def shares(record: Record) -> str:
    """Processor seconds of the fastest call by who spends them."""
    job, rows = record["speed"], []
    kinds = (("one process", job["1"]), ("half of the graph in one", [job["half"]]))
    for width in widths_of(job):
        for title, processes in (*kinds, ("each of two", job["2"])):
            best = [best_round(one[width]) for one in processes]
            own = " and ".join(f"{cpu - system:.2f} s" for cpu, system in best)
            kernel = " and ".join(f"{system:.2f} s" for _, system in best)
            rows.append([width, title, own, kernel])
    return table("d | | the loops and Python | the kernel", rows)


def best_round(case: Record) -> tuple[float, float]:
    """Processor seconds of the fastest call, and those that the kernel spent."""
    return min(zip(case["cpu"], case["system"], strict=True))


def pages(record: Record) -> str:
    """What a gigabyte costs the kernel, and what two processes gain without that."""
    found, job = record["pages"], record["speed"]
    fresh, rested = (min(found[key]) for key in ("freed_just_before", "freed_before_the_rest"))
    gains = []
    for width in widths_of(job):
        alone, *pair = (best_round(one[width]) for one in (*job["1"], *job["2"]))
        gain = (alone[0] - alone[1]) / max(cpu - system for cpu, system in pair)
        gains.append(f"{gain:.2f} (d = {width})")
    return (
        f"A gigabyte that was freed just before costs the kernel {fresh:.2f} s, one that was freed "
        f"{found['rest']:.0f} s before {rested:.2f} s. Without the kernel's seconds two processes "
        f"gain {' and '.join(gains)}."
    )


def choice(record: Record) -> str:
    """Narrow rows on one machine: the plain operator of one process against two processes."""
    width = widths_of(record["physics"])[0]
    plain = 1 / record["physics"]["ratios"][width]["single_wall"]
    return (
        f"On Coauthor Physics at d = {width} the plain operator on one thread is {plain:.1f} times "
        "as fast as two processes of this page."
    )


def memory(record: Record) -> str:
    """Peaks and seconds from arrays on disk to parts to one epoch."""
    rows = []
    for job in (record[name] for name in ("memory", "large") if name in record):
        stages = (("partition", "partition"), ("epoch_of_1", "epoch, 1 process"))
        for stage, title in (*stages, ("epoch_of_2", "epoch, 2 processes")):
            if stage not in job:
                continue
            peaks = " and ".join(f"{peak / GIGABYTE:.2f} GB" for peak in job[stage]["peaks"])
            work = " and ".join(f"{cpu:.0f} s" for cpu in job[stage].get("cpu", ())) or "–"
            clock = f"{job[stage]['seconds']:.0f} s"
            rows.append([f"{job['edges']:,}", title, peaks, work, clock])
    head = "edges | stage | peak of each process | of the processor | by the clock, start included"
    return table(head, rows)


def memory_ratios(record: Record) -> str:
    """What the peaks are of the single process."""
    found = record["memory"]["ratios"]
    return (
        f"At {record['memory']['edges']:,} edges the larger of two processes peaks at "
        f"{found['larger_of_two']:.2f} of the single one, the partitioner at "
        f"{found['partition']:.2f}."
    )


def training(record: Record) -> str:
    """Curves and weights by number of processes."""
    rows = []
    for name in ("pubmed", "coauthor-physics"):
        found = record["training"][name]
        same = ("yes" if all(found[key]) else "no" for key in ("same_curve", "same_weights"))
        tests = " / ".join(f"{100 * found['test'][p]:.2f}" for p in ("1", "2", "4"))
        alone = f"{100 * found['single_process_test']:.2f}"
        far = f"{found['largest_difference_of_losses']:.1e}"
        rows.append([name, str(found["epochs"]), *same, tests, alone, far])
    return table(
        "graph | epochs | same curve | same weights | test accuracy, 1 / 2 / 4 processes | "
        "operator for one process | largest difference of its losses",
        rows,
    )


def kills(record: Record) -> str:
    """Killed processes and the end."""
    found = record["kills"]
    moments = ", ".join(f"{one['rank']} after {one['after_epoch']}" for one in found["kills"])
    end = "those of" if found["same"] else "not those of"
    return (
        f"Cora, two processes, {found['epochs']} epochs, {len(found['kills'])} SIGKILLs (process "
        f"and checkpoint: {moments}): the final weights are {end} the undisturbed run, bit by bit."
    )


TABLES = {
    "choice": choice,
    "speed": speed,
    "shares": shares,
    "pages": pages,
    "memory": memory,
    "memory-ratios": memory_ratios,
    "training": training,
    "kills": kills,
    "exchanges": exchanges,
    "model": against_record,
    "partitions": partitions,
    "gains": largest_gains,
    "plans": carried_on,
}


def marks(name: str) -> tuple[str, str]:
    """What stands before and behind a table of the page."""
    return f"<!-- {name}: begin -->\n\n", f"\n\n<!-- {name}: end -->"


def replaced(document: str, record: Record) -> str:
    """The document with each table in its place."""
    for name, make in TABLES.items():
        begin, end = marks(name)
        before, rest = document.split(begin)
        document = before + begin + make(record) + end + rest.split(end)[1]
    return document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", type=Path)
    given = parser.parse_args()
    record = json.loads(RESULT.read_text())
    if given.document is not None:
        given.document.write_text(replaced(given.document.read_text(), record))
    print("\n\n".join(make(record) for make in TABLES.values()))


if __name__ == "__main__":
    main()
