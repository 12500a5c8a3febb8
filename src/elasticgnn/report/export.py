"""A self-contained folder of one study: results, splits, seeds, environment, tables, figure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from elasticgnn.experiment.results import result_path
from elasticgnn.files import write_whole
from elasticgnn.report.plot import save_plot
from elasticgnn.report.render import to_csv, to_latex, to_markdown
from elasticgnn.report.table import Entry, Table


def export_study(
    table: Table, results: Path, output: Path, attack: Path | None = None
) -> list[Path]:
    """The files written to `output`, which must be empty or absent."""
    if output.exists() and any(output.iterdir()):
        raise ValueError(f"output must be an empty or absent folder, got {output.name!r}")
    run = [entry for entry in table.entries if entry.result is not None]
    if not run:
        raise ValueError(f"{table.spec.name} must have results to be exported, got none")
    for entry in run:
        copy(result_path(results, table.spec, entry.cell), output / "results")
    for path in split_files(run, results):
        copy(path, output / "splits")
    output.mkdir(parents=True, exist_ok=True)
    write_whole(output / "table.md", to_markdown(table))
    write_whole(output / "table.tex", to_latex(table))
    write_whole(output / "table.csv", to_csv(table))
    write_whole(output / "environment.json", json.dumps(environments(run), indent=1) + "\n")
    write_whole(output / "seeds.json", json.dumps(seeds(table, run), indent=1) + "\n")
    write_spec(table, output)
    if attack is not None:
        copy(attack, output)
    save_plot(table, output / "figure.svg")
    return sorted(path for path in output.rglob("*") if path.is_file())


def copy(path: Path, folder: Path) -> None:
    """Copies a file into a folder."""
    write_whole(folder / path.name, path.read_bytes(), make_folder=True)


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


def write_spec(table: Table, output: Path) -> None:
    """Writes the study's own file beside its results."""
    source = resources.files("elasticgnn.experiment") / "specs" / f"{table.spec.name}.toml"
    if source.is_file():
        write_whole(output / "study.toml", source.read_text("utf-8"))
