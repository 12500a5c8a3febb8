"""The tables of the pages about attacks from their records: prints Markdown.

python studies/attack_tables.py {schedule,scale,eva,eva_default,certify,rung,rung_causes,rung_gamma,
    harmless,distilled,inductive_causes,inductive_choice,worst,by_attack,costs,inductive,poisoning,
    local,adaptive} [folder]
"""

import argparse
import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from comparison_tables import by_attack, by_protocol, costs, stored, worst
from rung import RATES, STATES
from rung_gamma import chosen, is_right, shares_right

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


def rung(rows: list[dict[str, Any]]) -> str:
    rates = ("20 %", "50 %", "100 %", "150 %", "200 %")
    head = ["reading of z", "splits", "clean", "clean after 8 epochs", "backbone without edges"]
    head += ["targets", "targets, clean", *rates]
    body = []
    for root in (False, True):
        mine = [row for row in rows if row["double_root"] == root]
        hit = [row for row in mine if row["targets"]]
        means = [percent(fmean(r[k] for r in mine)) for k in ("clean", "epoch 8", "no edges")]
        cells = ["root of the root" if root else "root", str(len(mine)), *means]
        cells.append(str(sum(row["targets"] for row in hit)))
        body.append(
            [*cells, *(percent(fmean(r[k] for r in hit)) for k in ("clean, targets", *rates))]
        )
    return table(head, body)


def rung_causes(found: list[dict[str, Any]]) -> str:
    rounding = {
        "nearest, at least 1": lambda flips: max(1, round(flips)),
        "down": int,
    }
    body = []
    for one in found:
        for name, rounded in rounding.items():
            cells = ["root of the root" if one["double_root"] else "root", one["way"], name]
            rows = one["rows"]
            cells.append(percent(fmean(row["backbone"] for row in rows)))
            cells.append(percent(fmean(is_right(row, 0) for row in rows)))
            for rate in RATES:
                left = [is_right(row, rounded(rate * row["degree"])) for row in rows]
                cells.append(percent(fmean(left)))
            body.append(cells)
    head = ["reading of z", "gradient", "budget rounded", "backbone without edges", "clean"]
    return table([*head, *(f"{100 * rate:g} %" for rate in RATES)], body)


def rung_gamma(found: list[dict[str, Any]]) -> str:
    body = []
    for one in found:
        if one["state"] == STATES[0]:
            cells = [one["model"], "1", percent(one["clean"])]
            body.append([*cells, *map(percent, shares_right(one))])
    picked = chosen(found)
    for splits in (1, len(STATES)):
        means = []
        for column, name in enumerate(picked):
            mine = [
                one for one in found if one["model"] == name and one["state"] in STATES[:splits]
            ]
            assert len(mine) == splits
            means.append(percent(fmean(shares_right(one)[column] for one in mine)))
        body.append(["of RUNG the best on split 1, column by column", str(splits), "-", *means])
    head = ["network", "splits", "clean, all test nodes", "clean, targets"]
    return table([*head, *(f"{100 * rate:g} %" for rate in RATES)], body)


def harmless(rows: list[dict[str, Any]]) -> str:
    head = ["protocol, backbone", "dropout", "share that uses the graph", "plausible", "clean"]
    head += ["5 %, worst", "25 %, worst"]
    body = []
    for row in rows:
        cells = [f"{row['protocol']}, {row['backbone']}", f"{row['dropout']:g}"]
        cells += [f"{row['share']:g}", f"{row['plausible']:g}"]
        body.append([*cells, *(percent(row[k]) for k in ("clean", "worst 0.05", "worst 0.25"))])
    return table(head, body)


def eva_default(rows: list[dict[str, Any]]) -> str:
    prbcd = {
        (row["rate"], row["seed"]): row["left"]
        for row in json.loads((RECORDS / "eva_long.json").read_text())
        if row["method"] == "prbcd"
    }
    body = []
    for row in sorted(rows, key=lambda r: (r["rate"], r["seed"])):
        other = prbcd[row["rate"], row["seed"]]
        cells = [f"{100 * row['rate']:g} %", str(row["seed"]), percent(row["clean"])]
        cells += [percent(other), percent(row["left"]), percent(other - row["left"])]
        body.append([*cells, f"{row['judged']:,}", f"{row['seconds']:g}"])
    head = ["budget", "network", "clean", "PRBCD", "EvA", "less", "graphs judged", "seconds"]
    return table(head, body)


def inductive_causes(rows: list[dict[str, Any]]) -> str:
    names = ("validation", "test", "test, no lean", "predicted frequent", "attacked")
    names += ("attacked, no lean",)
    head = ["model, epoch kept by", "dropout", "epochs", "validation", "test", "test, no lean"]
    head += ["given the frequent class", "PRBCD, 25 %", "PRBCD, 25 %, no lean"]
    body = []
    rows = [row for row in rows if row["model"] in ("elastic", "gcn")]
    for key in dict.fromkeys((r["model"], r["kept"], r["dropout"]) for r in rows):
        mine = [row for row in rows if (row["model"], row["kept"], row["dropout"]) == key]
        cells = [", ".join(key[:2]), f"{key[2]:g}", ", ".join(str(r["epoch"]) for r in mine)]
        for name in names:
            known = [100 * row[name] for row in mine if name in row]
            spread = f" ± {stdev(known):.1f}" if len(known) > 1 else ""
            cells.append(f"{fmean(known):.1f}{spread}" if known else "-")
        body.append(cells)
    return table(head, body)


def inductive_choice(rows: list[dict[str, Any]]) -> str:
    body = []
    for family in ("elastic", "rung"):
        mine = [r for r in rows if r["model"].split(":")[0] == family and r["kept"] == "accuracy"]
        for group in ([r for r in mine if r["model"] == family], mine):
            best = [
                max((r for r in group if r["seed"] == seed), key=lambda r: r["validation"])
                for seed in sorted({row["seed"] for row in group})
            ]
            names = ", ".join(dict.fromkeys(row["model"] for row in group))
            taken = ", ".join(f"{row['model']} ({row['dropout']:g})" for row in best)
            scores = ([100 * row[name] for row in best] for name in ("validation", "test"))
            cells = [f"{fmean(v):.1f} ± {stdev(v):.1f}" for v in scores]
            body.append([names, taken, *cells])
    return table(["settings to choose from", "taken (dropout)", "validation", "test"], body)


def distilled(rows: list[dict[str, Any]]) -> str:
    names = ("elastic", "no edges", "distilled", "distilled, dropout 0.5")
    body = []
    for key in dict.fromkeys((row["protocol"], row["rate"]) for row in rows):
        mine = [row for row in rows if (row["protocol"], row["rate"]) == key]
        title = f"{key[0]}, {100 * key[1]:g} %" if key[1] else f"{key[0]}, clean"
        spreads = ((fmean(v), stdev(v)) for v in ([100 * r[n] for r in mine] for n in names))
        body.append([title, *(f"{mean:.1f} ± {beside:.1f}" for mean, beside in spreads)])
    return table(["trained on", *names], body)


PRINTERS = {"schedule": schedule, "scale": scale, "eva": eva, "certify": certify}
PRINTERS |= {"rung": rung, "rung_causes": rung_causes, "rung_gamma": rung_gamma}
PRINTERS |= {"harmless": harmless, "distilled": distilled, "eva_default": eva_default}
PRINTERS |= {"inductive_causes": inductive_causes, "inductive_choice": inductive_choice}
OF_ROWS = {"worst": worst, "by_attack": by_attack, "costs": costs}
# protocol and folder of each: attacks of other efforts and models have folders of their own
PROTOCOLS = {name: (name, "protocols") for name in ("inductive", "poisoning", "local")}
PROTOCOLS["adaptive"] = ("poisoning", "adaptive")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=(*PRINTERS, *OF_ROWS, *PROTOCOLS))
    parser.add_argument("folder", type=Path, nargs="?", default=RECORDS)
    given = parser.parse_args()
    if given.what in OF_ROWS:
        print(table(*OF_ROWS[given.what](stored(given.folder / "rows", "evasion"))))
        return
    if given.what in PROTOCOLS:
        protocol, folder = PROTOCOLS[given.what]
        print(table(*by_protocol(stored(given.folder / folder, protocol))))
        return
    record = {"inductive_choice": "inductive_causes"}.get(given.what, given.what)
    rows = json.loads((given.folder / f"{record}.json").read_text())
    print(PRINTERS[given.what](rows))


if __name__ == "__main__":
    main()
