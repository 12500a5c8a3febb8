"""The tables of docs/attacks.md from their records: prints Markdown.

python studies/attack_tables.py {schedule,scale,eva,certify,rows} [folder]
"""

import argparse
import json
from pathlib import Path
from statistics import fmean
from typing import Any

from elasticgnn.robustness import outcomes
from elasticgnn.robustness.store import read_rows

RECORDS = Path(__file__).parent.parent / "results" / "attacks"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def schedule(rows: list[dict[str, Any]]) -> str:
    head = ["attack", "model", "epochs", "pairs", "each start", "best", "seconds of one start"]
    body = []
    for row in sorted(rows, key=lambda r: (r["kind"], r["model"], r["epochs"] * r["block"])):
        starts = " ".join(percent(each) for each in row["accuracy"])
        size = f"{row['block']:,}"
        cells = [row["kind"], row["model"], str(row["epochs"]), size, starts]
        body.append([*cells, percent(min(row["accuracy"])), f"{row['seconds']:g}"])
    return table(head, body)


def scale(rows: list[dict[str, Any]]) -> str:
    head = ["dropout", "networks", "l21 (3, 3)", "mcp (3, 0, 2.5)", "no edges"]
    head += ["difference an edge bridges", "edges torn"]
    body = []
    for dropout in sorted({row["dropout"] for row in rows}):
        mine = [row for row in rows if row["dropout"] == dropout]
        mean = {name: fmean(row[name] for row in mine) for name in mine[0]}
        cells = [percent(mean[name]) for name in ("l21", "mcp", "no edges")]
        torn = f"{percent(mean['torn'])} %"
        body.append([f"{dropout:g}", str(len(mine)), *cells, f"{mean['bridged']:.1f}", torn])
    return table(head, body)


def eva(rows: list[dict[str, Any]]) -> str:
    head = ["nodes attacked", "model", "rate", "flips", "flips per node", "clean", "method", "left"]
    head += ["nodes lost per flip", "graphs judged", "seconds"]
    body = []
    for row in sorted(rows, key=lambda r: (r["setting"], r["model"], r["rate"], r["method"])):
        judged = f"{row['judged']:,}" if "judged" in row else "-"
        cells = [f"{row['setting']}, {row['nodes']}", row["model"], f"{100 * row['rate']:g} %"]
        cells += [str(row["allowed"]), f"{row['allowed'] / row['nodes']:.2f}"]
        lost = (row["clean"] - row["left"]) * row["nodes"] / max(row["allowed"], 1)
        cells += [percent(row["clean"]), row["method"], percent(row["left"]), f"{lost:.2f}"]
        body.append([*cells, judged, f"{row['seconds']:g}"])
    return table(head, body)


def certify(rows: list[dict[str, Any]]) -> str:
    radii = {"additions": (0, 1, 2, 3), "deletions": (1, 2, 4, 8, 12)}
    head = ["denoiser", "smoothed accuracy"]
    head += [f"{count} {kind}" for kind, counts in radii.items() for count in counts]
    body = []
    for row in rows:
        kind = "none" if row["denoise"] is None else f"{row['denoise']:g}"
        cells = [percent(row["certified"][k][r]) for k, counts in radii.items() for r in counts]
        body.append([kind, percent(row["smoothed_accuracy"]), *cells])
    return table(head, body)


def stored_rows(folder: Path) -> str:
    body = []
    for path in sorted(folder.glob("*.jsonl")):
        rows = list(read_rows(path))
        found = outcomes(rows)
        clean = {each.model: each for each in found if each.mode == "clean"}
        for each in found:
            if each.mode != "clean":
                several = len(each.accuracy) > 1  # one seed has no spread
                spread = f" ± {percent(each.deviation)}" if several else ""
                value = f"{percent(each.mean)}{spread}"
                before = percent(clean[each.model].mean) if each.model in clean else "-"
                place = [rows[0].protocol, each.attack, f"{100 * each.rate:g} %", each.model]
                body.append([*place, each.mode, before, value, str(len(each.accuracy))])
    head = ["protocol", "attack", "rate", "model", "mode", "clean", "left", "seeds"]
    return table(head, body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("schedule", "scale", "eva", "certify", "rows"))
    parser.add_argument("folder", type=Path, nargs="?", default=RECORDS)
    given = parser.parse_args()
    if given.what == "rows":
        print(stored_rows(given.folder / "rows"))
        return
    rows = json.loads((given.folder / f"{given.what}.json").read_text())
    print({"schedule": schedule, "scale": scale, "eva": eva, "certify": certify}[given.what](rows))


if __name__ == "__main__":
    main()
