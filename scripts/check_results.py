"""Recomputes every table, verdict and claim from the result files and the paper's numbers alone.

    python scripts/check_results.py [results]

Needs nothing but Python 3.11 and check_searches.py beside it: it shares no line with the package,
only the files that hold the data (the cells, the studies' TOML with the paper's numbers, the list
of claims). Prints what differs from what is committed (table*.csv, figure*.csv, claims.json,
docs/reproduce.md) and ends with 1, or says how much agrees.
"""

import csv
import json
import math
import re
import runpy
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPECS = ROOT / "src/elasticgnn/experiment/specs"
CLAIMS = ROOT / "src/elasticgnn/report/claims.toml"
# 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom
STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)
NEEDS = {"all": 1.0, "almost all": 0.9, "most": 0.5}
SEARCHES = runpy.run_path(str(Path(__file__).with_name("check_searches.py")))
problems = []


def expect(name, found, wanted, digits=4):
    """Notes a difference of more than one unit in the last of `digits`."""
    if isinstance(wanted, float) and found not in (None, ""):
        same = abs(float(found) - wanted) <= 1.01 * 10.0**-digits
    else:
        same = (found or None) == (wanted or None)
    if not same:
        problems.append(f"{name}: committed {found!r}, recomputed {wanted!r}")


def summary(values):
    """Mean, deviation, half of the 95 % interval."""
    count, mean = len(values), math.fsum(values) / len(values)
    if count == 1:
        return mean, None, None
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    return mean, deviation, STUDENT[count - 2] * deviation / math.sqrt(count)


class Study:
    """A study's TOML file and its cells."""

    def __init__(self, path, results):
        table = tomllib.loads(path.read_text("utf-8"))
        self.table, self.name, self.metric = table, path.stem, table.get("metric", "accuracy")
        self.baseline, self.models = table.get("baseline"), table["models"]
        self.levels = [float(level) for level in table.get("levels", [0.0])]
        self.datasets, self.tolerance = table["datasets"], table.get("tolerance", {})
        self.runs = table.get("protocol", {}).get("runs", 10)
        folder, self.cells, self.paper = results / table.get("pool", path.stem), {}, {}
        for key in self.keys():
            file = folder / f"{key[0]}-{key[1]:g}-{key[2]}.json"
            self.cells[key] = json.loads(file.read_text("utf-8")) if file.is_file() else None
        for dataset, columns in table.get("paper", {}).items():
            for model, pairs in columns.items():
                for level, pair in zip(self.levels, pairs, strict=True):
                    if pair:
                        self.paper[dataset, level, model] = (*pair, None)[:2]

    @property
    def is_run(self):
        """Whether there is a cell; a study without any is not published."""
        return any(cell is not None for cell in self.cells.values())

    def keys(self):
        return [(d, lv, m) for d in self.datasets for lv in self.levels for m in self.models]

    def value(self, run):
        return 100 * run["test"] if self.metric == "accuracy" else run["values"][self.metric]

    def summary(self, key):
        cell = self.cells[key]
        return cell and summary([self.value(run) for run in cell["runs"]])

    def within(self, key, deviations):
        mean, std = self.paper[key]
        margin = max(deviations * (std or 0.0), self.tolerance.get("points", 0.5))
        return abs(self.summary(key)[0] - mean) <= margin + 1e-9

    def verdict(self, key):
        if self.cells[key] is None:
            return "not run"
        if key not in self.paper or self.metric == "objective":
            return "not in the paper"
        if self.within(key, self.tolerance.get("std", 2.0)):
            return "within"
        return "above" if self.summary(key)[0] > self.paper[key][0] else "below"

    def paired(self, one, other):
        """The paired difference (mean, deviation, margin); None where it would not be of models."""
        first, second = self.cells.get(one), self.cells.get(other)
        if first is None or second is None or one == other:
            return None
        fixed = [cell["search"] == "fixed" for cell in (first, second)]
        names = ("learning_rate", "weight_decay", "dropout")
        rates = [[cell["selected"][name] for name in names] for cell in (first, second)]
        if fixed[0] != fixed[1] or (fixed[0] and rates[0] != rates[1]):
            return None
        partner = {(r["run"], r["seed"], r["split"]): r for r in second["runs"]}
        both = [(r, partner.get((r["run"], r["seed"], r["split"]))) for r in first["runs"]]
        values = [self.value(a) - self.value(b) for a, b in both if b is not None]
        return summary(values) if values else None


def check_selection(study):
    """The setting shown is the best on validation nodes of those with all runs."""
    for key, cell in study.cells.items():
        if cell is None:
            continue
        whole = [row for row in cell["candidates"] if row["runs"] >= study.runs]
        chosen = [row for row in whole if all(row[k] == v for k, v in cell["selected"].items())]
        name = f"{study.name} {key}"
        if len(chosen) != 1:
            problems.append(f"{name}: the selected setting is not one of the candidates")
            continue
        if chosen[0]["val"] < max(row["val"] for row in whole) - 1e-9:
            problems.append(f"{name}: another setting is better on the validation nodes")
        mean = math.fsum(run["test"] for run in cell["runs"]) / len(cell["runs"])
        expect(f"{name} candidate", chosen[0]["test"], mean, digits=5)


def check_search(study):
    """A search that names its rule tried what the rule draws, with as many runs as it says."""
    for key, cell in study.cells.items():
        if cell is not None and "rule" in cell:
            problems.extend(SEARCHES["problems_of"](study.table, key, cell))


def check_table(study, results):
    """Every line of the committed CSV."""
    text = (results / f"{study.name}.csv").read_text("utf-8").splitlines()
    rows = {(r["dataset"], float(r["level"]), r["model"]): r for r in csv.DictReader(text)}
    expect(f"{study.name} cells", sorted(rows) == sorted(study.keys()), True)
    for key, row in rows.items():
        name, own, paper = f"{study.name} {key}", study.summary(key), study.paper.get(key)
        mean, deviation, margin = own or (None, None, None)
        pair = study.paired(key, (*key[:2], study.baseline)) if study.baseline else None
        expect(f"{name} mean", row["mean"], mean)
        expect(f"{name} std", row["std"], deviation)
        expect(f"{name} low", row["low"], mean - margin if margin is not None else None, 3)
        expect(f"{name} paper", row["paper_mean"], paper and float(paper[0]))
        expect(f"{name} verdict", row["verdict"], study.verdict(key))
        expect(f"{name} paired", row["paired_mean"], pair and pair[0])
        expect(f"{name} paired low", row["paired_low"], pair and pair[0] - pair[2], 3)
        expect(f"{name} search", row["search"], study.cells[key] and study.cells[key]["search"])
    return len(rows)


def check_series(study, results):
    """Every number of the committed objective curves."""
    text = (results / f"{study.name}.csv").read_text("utf-8").splitlines()
    found = {
        (r["dataset"], r["model"], int(r["run"]), int(r["step"])): r["objective"]
        for r in csv.DictReader(text)
    }
    wanted = {
        (d, m, run["run"], step): value
        for (d, _, m), cell in study.cells.items()
        if cell
        for run in cell["runs"]
        for step, value in enumerate(run["series"]["objective"])
    }
    expect(f"{study.name} points", sorted(found) == sorted(wanted), True)
    for key, value in wanted.items():
        expect(f"{study.name} {key}", f"{float(found.get(key, 'nan')):.7g}", f"{value:.7g}")
    return len(wanted)


def check_sentence(study, document):
    """The shares that the page gives for the study."""
    judged = [key for key in study.paper if study.cells[key] is not None]
    if not judged:
        return
    one, two = (sum(study.within(key, count) for key in judged) for count in (1.0, 2.0))
    sentence = (
        f"{one} of {len(judged)} cells within one of the paper's deviations, {two} within two"
    )
    if all(study.paper[key][1] is None for key in judged):
        sentence = f"{two} of {len(judged)} cells within {study.tolerance['points']:g} of the paper"
    if sentence not in document:
        problems.append(f"{study.name}: docs/reproduce.md does not say: {sentence}")


def cases_of(claim, study):
    """Whether each comparison of a claim holds; None where it cannot be judged."""
    ours, level = claim["ours"], claim.get("levels", [0.0])[0]
    if claim.get("decreasing"):
        cells = [study.cells[d, 0.0, ours[0]] for d in study.datasets]
        series = [[run["series"]["objective"] for run in cell["runs"]] for cell in cells]
        return [all(b < a for run in runs for a, b in pairwise(run)) for runs in series]
    if "small_level" in claim:
        names = ("from_level", "small_level", "to_level")
        rows = [
            [study.summary((d, float(claim[n]), ours[0]))[0] for n in names] for d in study.datasets
        ]
        return [(few - none) / (many - none) >= claim["gain"] for none, few, many in rows]
    if "to_level" in claim:
        ends = (float(claim["to_level"]), float(claim["from_level"]))
        pairs = [study.paired(*((d, end, ours[0]) for end in ends)) for d in study.datasets]
        return [None if p is None else p[0] - p[2] > 0 for p in pairs]
    if "margins" in claim:
        margins = claim["margins"].items()
        pairs = [
            (m, study.paired((d, level, ours[0]), (d, level, claim["others"][0])))
            for d, m in margins
        ]
        return [None if p is None else abs(p[0] - m) <= p[2] for m, p in pairs]
    pairs = [study.paired(*pair) for pair in pairs_of(claim, study)]
    share = 1.0 if claim.get("significant") else 0.0
    return [None if p is None else p[0] - share * p[2] > 0 for p in pairs]


def chance_of(claim, study):
    """The words on chance where the mean alone decides a claim; none where the interval does."""
    decided = {"decreasing", "small_level", "to_level", "margins", "significant"}
    if decided & {name for name, value in claim.items() if value}:
        return ""
    pairs = [study.paired(*pair) for pair in pairs_of(claim, study)]
    higher = sum(p is not None and p[0] - p[2] > 0 for p in pairs)
    lower = sum(p is not None and p[0] + p[2] < 0 for p in pairs)
    return f"({higher} beyond chance{f', {lower} the other way' if lower else ''})"


def pairs_of(claim, study):
    """Every pair of cells that a claim compares."""
    return [
        ((d, lv, one), (d, lv, other))
        for d in study.datasets
        for lv in study.levels
        if not claim.get("levels") or lv in claim["levels"]
        for one in claim["ours"]
        for other in claim["others"]
        if not study.paper or (d, lv, other) in study.paper
    ]


def verdict_of(held, cases, needs):
    share = held / cases
    if (share > 0.5) if needs == "most" else share >= NEEDS[needs]:
        return "confirmed"
    return "partly" if share >= 0.5 else "not confirmed"


def check_claims(studies, results):
    committed = json.loads((results / "claims.json").read_text("utf-8"))["claims"]
    rows = {(row["study"], row["sentence"]): row for row in committed}
    listed = tomllib.loads(CLAIMS.read_text("utf-8"))["claims"]
    named = [(claim, [claim["study"], *claim.get("also", [])]) for claim in listed]
    claims = [{**claim, "study": name} for claim, names in named for name in names]
    claims = [claim for claim in claims if studies[claim["study"]].is_run]
    expect("number of claims", len(rows), len(claims))
    for claim in claims:
        row = rows.get((claim["study"], claim["sentence"]), {})
        cases, needs = cases_of(claim, studies[claim["study"]]), claim.get("needs", "all")
        held, unknown = cases.count(True), cases.count(None)
        both = {verdict_of(n, len(cases), needs) for n in (held, held + unknown)}
        name = f"{claim['study']} claim {claim['sentence'][:40]!r}"
        expect(f"{name} cases", [case[1] for case in row.get("cases", [])], cases)
        expect(f"{name} verdict", row.get("verdict"), both.pop() if len(both) == 1 else "open")
        words = re.search(r"\(.*chance.*\)", row.get("summary", ""))
        expect(
            f"{name} chance", words[0] if words else "", chance_of(claim, studies[claim["study"]])
        )
    return len(claims)


def main(results):
    studies = {path.stem: Study(path, results) for path in sorted(SPECS.glob("*.toml"))}
    document = (ROOT / "docs/reproduce.md").read_text("utf-8")
    numbers = 0
    for study in studies.values():
        if not study.is_run:
            expect(f"{study.name} table", (results / f"{study.name}.csv").exists(), False)
            continue
        check_selection(study)
        check_search(study)
        check_sentence(study, document)
        check = check_series if study.metric == "objective" else check_table
        numbers += check(study, results)
    claims = check_claims(studies, results)
    for problem in problems:
        print(problem)
    print(f"{numbers} cells and points, {claims} claims: {len(problems)} differ")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results"))
