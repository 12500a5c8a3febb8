"""A self-contained folder of one study: results, splits, seeds, environment, tables, figure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from elasticgnn.experiment.results import result_path
from elasticgnn.files import fill_folder
from elasticgnn.report.plot import plot_bytes
from elasticgnn.report.render import to_csv, to_latex, to_markdown
from elasticgnn.report.table import Entry, Table


def export_study(
    table: Table, results: Path, output: Path, attack: Path | None = None
) -> list[Path]:
    """The files written to `output`, which must be empty or absent."""
    run = [entry for entry in table.entries if entry.result is not None]
    if not run:
        raise ValueError(f"{table.spec.name} must have results to be exported, got none")
    paths = [result_path(results, table.spec, entry.cell) for entry in run]
    files = {f"results/{path.name}": path.read_bytes() for path in paths}
    files |= {f"splits/{path.name}": path.read_bytes() for path in split_files(run, results)}
    files |= {name: text.encode() for name, text in texts(table, run).items()}
    files |= {} if attack is None else {attack.name: attack.read_bytes()}
    files["figure.svg"] = plot_bytes(table, "svg")
    fill_folder(output, files)
    return sorted(output / name for name in files)


def texts(table: Table, run: list[Entry]) -> dict[str, str]:
    """The tables, where the results come from, and the study's own file where it has one."""
    source = resources.files("elasticgnn.experiment") / "specs" / f"{table.spec.name}.toml"
    return {
        "table.md": to_markdown(table),
        "table.tex": to_latex(table),
        "table.csv": to_csv(table),
        "environment.json": json.dumps(environments(run), indent=1) + "\n",
        "seeds.json": json.dumps(seeds(table, run), indent=1) + "\n",
        **({"study.toml": source.read_text("utf-8")} if source.is_file() else {}),
    }


def split_files(run: Iterable[Entry], results: Path) -> list[Path]:
    """The stored splits that the results refer to."""
    wanted = {r.split for entry in run if entry.result for r in entry.result.runs}
    folder = results / "splits"
    return [path for path in sorted(folder.glob("*.json")) if path.stem.split("-")[-1] in wanted]


def environments(run: Iterable[Entry]) -> list[dict[str, str]]:
    """Every distinct environment of the results."""
    texts = {
        json.dumps(dict(environment), sort_keys=True)
        for entry in run
        if entry.result
        for environment in entry.result.environments
    }
    return [json.loads(text) for text in sorted(texts)]


def seeds(table: Table, run: Iterable[Entry]) -> dict[str, Any]:
    """The protocol of the study, and seed and split of every run of every cell."""
    rows = {
        entry.cell.label: [[r.run, r.seed, r.split] for r in entry.result.runs]
        for entry in run
        if entry.result
    }
    return {"protocol": asdict(table.spec.protocol), "run, seed, split": rows}
