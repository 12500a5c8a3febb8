"""The tables of docs/solver.md from the records of results/solver.json.

python benchmarks/solver_tables.py
"""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results" / "solver.json"
MIDDLE = 0.5
LARGEST = 1000

Record = dict[str, Any]


def all_tables(results: Record) -> dict[str, str]:
    """Each table in Markdown, by what it shows."""
    rivals, paths = results["rivals"]["records"], results["paths"]["records"]
    return {
        "rivals": rival_table(rivals),
        "largest": large_table(rivals),
        "paths": path_table(paths),
        "methods": method_table(results["methods"]["records"]),
    }


def rival_table(records: list[Record]) -> str:
    """A row per grid and number of channels, a column per solver, at the middle lambda1."""
    names = list(dict.fromkeys(record["name"] for record in records))
    middle = {
        (record["side"], record["channels"], record["name"]): cell(record)
        for record in records
        if record["lambda1"] == MIDDLE
    }
    rows = [
        [f"{side**2:,}, d = {channels}"]
        + [middle.get((side, channels, name), "-") for name in names]
        for side, channels in dict.fromkeys(key[:2] for key in middle)
    ]
    return table(["nodes, d", *names], rows)


def large_table(records: list[Record], name: str = "elasticgnn") -> str:
    """Our seconds and memory on the largest grid."""
    own = [r for r in records if r["name"] == name and r["side"] == LARGEST]
    strengths = sorted({record["lambda1"] for record in own})
    rows = []
    for channels, title in ((1, "d = 1"), (2, "d = 2, l21")):
        mine = {record["lambda1"]: record for record in own if record["channels"] == channels}
        memory = max(record["memory_mb"] for record in mine.values())
        times = [duration(mine[at]["seconds"]) for at in strengths]
        rows.append([title, *times, f"{memory:.0f} MB"])
    first, *rest = [f"{at:g}" for at in strengths]
    return table(["", f"lambda1 = {first}", *rest, "peak memory"], rows)


def path_table(records: list[Record]) -> str:
    """Path and hardest cold solve of every problem, and their ratio."""
    heads = ["", "path", "hardest cold solve", "cold solves"]
    return table(
        heads,
        [
            [
                record["name"],
                duration(record["seconds"]),
                duration(record["hardest_seconds"]),
                f"{record['cold_solves']:.1f}",
            ]
            for record in records
        ],
    )


def method_table(records: list[Record]) -> str:
    """A row per problem: method, seconds, and Clarabel's as a multiple of them."""
    heads = ["", "nodes", "d", "order", "lambda1", "method", "time", "Clarabel / ours"]
    return table(heads, [method_row(record) for record in records])


def method_row(record: Record) -> list[str]:
    """A line of that table; ">": Clarabel was stopped before it was done."""
    ratio = "-"
    if "ratio" in record:
        status = record.get("clarabel_status", "solved").lower()
        stopped = "solved" not in status and "optimal" not in status
        ratio = f"{'> ' if stopped else ''}{record['ratio']:.1f}"
    strength = f"{record['lambda1']:g}" if record["lambda1"] else "100 values"
    facts = [f"{record['nodes']:,}", str(record["channels"]), str(record["order"]), strength]
    verdict = "" if record["certified"] else " (not certified)"
    end = [record.get("method", "-"), duration(record["seconds"]) + verdict, ratio]
    return [record["case"], *facts, *end]


def cell(record: Record) -> str:
    """Seconds and the gap reached; or why there are none."""
    if "failure" not in record:
        return f"{duration(record['seconds'])} ({record['relative_gap']:.0e})"
    return "stopped" if record["stopped"] else "failed"


def duration(seconds: float) -> str:
    if seconds < 0.01:
        return f"{1e3 * seconds:.1f} ms"
    return f"{1e3 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line).lstrip() + " |" for line in lines)


if __name__ == "__main__":
    for text in all_tables(json.loads(RESULTS.read_text())).values():
        print(text, end="\n\n")
