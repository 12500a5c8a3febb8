"""Every table of the pages about attacks has a record, and its decimals are those numbers."""

import json
import re
from pathlib import Path
from statistics import fmean

import pytest

from elasticgnn.attack import EvolutionSettings
from elasticgnn.robustness import outcomes
from elasticgnn.robustness.store import read_rows

ROOT = Path(__file__).parent.parent.parent
PAGES = ("attacks", "robustness_details", "defence_details")
PAGE = "\n".join((ROOT / "docs" / f"{name}.md").read_text() for name in PAGES)
RECORDS = ROOT / "results" / "attacks"
# tables that `studies/attack_tables.py` prints whole: compared letter by letter elsewhere
PRINTED = ("attack", "dropout", "nodes attacked", "denoiser", "reading")
PRINTED += ("network", "model | clean", "model | DICE", "through", "protocol, backbone")
PRINTED += ("model, inductive", "model, poisoning", "model, local", "model, epoch kept by")
PRINTED += ("budget | network", "settings to choose from", "trained on")
# head of a table: its record
READ = {
    "flips": "bite",
    "penalty (lambda1": "mcp",
    "graph": "inspect",
    "wrong edges": "stuck",
    "(3, 3), 40 % wrong edges": "stuck",
}
WORDS = ("method", "protocol | what")  # tables without numbers


def tables() -> dict[str, list[str]]:
    """Head without its first bar: the lines of the body."""
    found: dict[str, list[str]] = {}
    lines = PAGE.splitlines()
    for place, line in enumerate(lines[:-1]):
        if line.startswith("| ") and lines[place + 1].startswith("| ---"):
            body = []
            for row in lines[place + 2 :]:
                if not row.startswith("|"):
                    break
                body.append(row)
            found[line.removeprefix("| ")] = body
    return found


def numbers_of(name: str) -> set[float]:
    """What a table of the record may say: its values, per cents, means over seeds, losses."""
    rows = json.loads((RECORDS / f"{name}.json").read_text())
    plain = {float(v) for row in rows for v in row.values() if isinstance(v, int | float)}
    if name == "bite":
        clean = {row["flips"]: row["mean"] for row in rows if row["rate"] == 0}
        plain |= {clean[row["flips"]] - row["mean"] for row in rows}
    if name == "mcp":
        groups: dict[tuple[str, str, float], list[dict[str, float]]] = {}
        for row in rows:
            key = row["family"], json.dumps(row["predicting"]), row["rate"]
            groups.setdefault(key, []).append(row)
            plain |= {v for v in row["predicting"].values() if isinstance(v, float)}
        for part in groups.values():
            plain |= {fmean(row[k] for row in part) for k in ("clean", "adaptive", "worst")}
    return plain | {100 * value for value in plain}


def unrecorded(body: list[str], known: set[float]) -> list[str]:
    """Decimals behind the first cell that no number of the record rounds to."""
    cells = [line.partition("|")[2].partition("|")[2] for line in body]
    listed = [number for line in cells for number in re.findall(r"\d+\.\d+", line)]

    def is_known(text: str) -> bool:
        unit = 10.0 ** -len(text.partition(".")[2])
        return any(abs(value - float(text)) <= 0.5 * unit + 1e-9 for value in known)

    return [text for text in listed if not is_known(text)]


@pytest.mark.parametrize(("head", "record"), READ.items())
def test_decimals_of_a_table_are_in_its_record(head, record):
    (body,) = (lines for start, lines in tables().items() if start.startswith(head))
    assert f"results/attacks/{record}.json" in PAGE
    assert unrecorded(body, numbers_of(record)) == []


def test_no_table_is_without_a_record():
    for head, body in tables().items():
        known = any(head.startswith(start) for start in (*PRINTED, *READ, *WORDS))
        assert known or not re.search(r"\d\.\d", "".join(body)), head


def test_a_wrong_digit_is_found():
    assert unrecorded(["| 9.9 | 56.3 | 1.7 |"], {56.23, 1.7}) == ["56.3"]
    assert unrecorded(["| 9.9 | 56.2 ± 1.7 |"], {56.23, 1.7}) == []


WORDS_OF_PAGE = " ".join(PAGE.split())  # however lines are broken


def less_than_prbcd(name: str) -> list[list[float]]:
    """Points that EvA leaves less than PRBCD on each network, at 5 and at 10 %."""
    every = [json.loads((RECORDS / f"{record}.json").read_text()) for record in ("eva_long", name)]
    prbcd = {(r["rate"], r["seed"]): r["left"] for r in every[0] if r["method"] == "prbcd"}
    eva = {(r["rate"], r["seed"]): r["left"] for r in every[1] if r["method"] == "eva"}
    seeds = sorted({seed for _, seed in eva})
    return [[100 * (prbcd[rate, k] - eva[rate, k]) for k in seeds] for rate in (0.05, 0.1)]


def test_what_a_long_search_of_eva_leaves_less_than_prbcd_is_recorded():
    less = less_than_prbcd("eva_long")
    means = " and ".join(f"{fmean(values):.1f}" for values in less)
    assert f"it leaves {means} less on average over three networks" in WORDS_OF_PAGE
    each = ["{:.1f}, {:.1f} and {:.1f}".format(*values) for values in less]
    assert "; ".join(each) in WORDS_OF_PAGE


def test_eva_leaves_a_gcn_five_points_less_than_prbcd_with_its_default_effort():
    less = less_than_prbcd("eva_default")
    assert min(fmean(values) for values in less) >= 5
    means = " and ".join(f"{fmean(values):.1f}" for values in less)
    networks = ("one network", "mean of two networks", "mean of three networks")[len(less[0]) - 1]
    found = f"{means} points less than PRBCD at 5 and 10 %, {networks}"
    assert f"EvA leaves {found}" in WORDS_OF_PAGE
    assert f"it leaves a GCN {found}" in WORDS_OF_PAGE


def test_the_record_of_eva_is_of_its_default_effort():
    rows = json.loads((RECORDS / "eva_default.json").read_text())
    assert {row["generations"] for row in rows} == {EvolutionSettings().generations}


def test_what_eva_leaves_elasticgnn_less_is_that_of_the_record():
    left = {
        (row["rate"], row["method"]): row["left"]
        for row in json.loads((RECORDS / "eva.json").read_text())
        if (row["setting"], row["model"]) == ("all", "elastic")
    }
    one, other = (100 * (left[rate, "prbcd"] - left[rate, "eva"]) for rate in (0.05, 0.1))
    assert f"against ElasticGNN {one:.1f} and {other:.1f} less" in WORDS_OF_PAGE


def test_what_our_flips_cost_more_than_the_published_ones_is_that_of_the_record():
    mean = {
        (row["flips"], row["rate"]): row["mean"]
        for row in json.loads((RECORDS / "bite.json").read_text())
    }
    lost = {name: mean[name, 0.0] - mean[name, 0.2] for name, _ in mean}
    more = [lost[f"cora-metattack-{k}"] - lost["published"] for k in range(3)]
    assert f"the first costs {more[0]:.1f} points more than the published graph" in WORDS_OF_PAGE
    assert f"the second as much, the third {-more[2]:.1f} points less" in WORDS_OF_PAGE
    assert abs(more[1]) < 0.05


def test_eva_leaves_a_gcn_five_points_less_in_the_whole_comparison_too():
    (path,) = (RECORDS / "rows").glob("evasion-*.jsonl")
    left = {(o.model, o.attack, o.mode, o.rate): o.mean for o in outcomes(list(read_rows(path)))}

    def less(rate: float) -> float:
        """Points, of the numbers as the tables have them."""
        own = [round(100 * left["gcn", kind, "adaptive", rate], 1) for kind in ("prbcd", "eva")]
        return own[0] - own[1]

    assert min(less(0.05), less(0.1)) >= 5
    found = f"a GCN has {less(0.05):.1f} and {less(0.1):.1f} points less under it than under PRBCD"
    assert found in WORDS_OF_PAGE
