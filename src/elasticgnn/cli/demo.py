"""`elasticgnn demo`: what damaged edges do to four models on Cora, as tables and a picture."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticgnn.cli.say import say
from elasticgnn.extras import optional_imports

if TYPE_CHECKING:
    from elasticgnn.demo.trainings import Cell, Outcome
    from elasticgnn.training.repeats.summary import Summary

TITLES = {
    "random": "Cora, wrong edges added at random; {runs} random splits",
    "metattack": "Cora's largest component, edges flipped by Metattack; {runs} trainings",
}


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("demo")(demo)


def demo(
    runs: Annotated[int, typer.Option(help="trainings per number of the tables")] = 8,
    epochs: Annotated[int, typer.Option(help="of each training")] = 100,
    seed: Annotated[int, typer.Option(help="fixes splits, wrong edges, weights, dropout")] = 0,
    jobs: Annotated[int, typer.Option(help="processes; 0: one per processor")] = 0,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="picture: .png, .svg or .pdf")
    ] = Path("elasticgnn-demo.png"),
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Trains four models on Cora with wrong edges added, and with edges flipped by Metattack.

    Nothing goes in: Cora and Metattack's flips come with the package. Two tables come out, of test
    accuracy against the share of damaged edges, and a picture of both.
    Example: elasticgnn demo --runs 4 -o demo.png
    """
    from elasticgnn.demo.picture import draw
    from elasticgnn.demo.trainings import DAMAGES, list_cells
    from elasticgnn.files import check_picture

    if runs < 1 or epochs < 1:
        raise ValueError(f"runs and epochs must be >= 1, got {runs} and {epochs}")
    check_picture(output)
    began = time.perf_counter()
    cells = list_cells(runs, epochs, seed)
    tables = {}
    for damage, rows in finished_tables(cells, jobs or os.cpu_count() or 1, not as_json):
        tables[damage] = rows
        if not as_json:
            show(rows, damage, runs)
    draw(tables, output)
    if as_json:
        record = {
            damage: {
                "shares": DAMAGES[damage],
                "models": {name: [asdict(cell) for cell in row] for name, row in rows.items()},
            }
            for damage, rows in tables.items()
        }
        say(json.dumps({**record, "picture": str(output)}))
        return
    say("lambda2 of ElasticGNN (0 or 3) and alpha of APPNP (0.1 or 0.2) chosen by validation")
    say(f"picture: {output.resolve()}\n{time.perf_counter() - began:.0f} s")


def finished_tables(
    cells: list[Cell], jobs: int, shown: bool
) -> Iterator[tuple[str, dict[str, list[Summary]]]]:
    """Each kind of damage with its table, as soon as its cells are trained."""
    from elasticgnn.cli.progress import progress_bar
    from elasticgnn.demo.trainings import DAMAGES, tabulate, train_all

    results: dict[Cell, Outcome] = {}
    trained = train_all(cells, min(jobs, len(cells)))
    for damage in DAMAGES:
        missing = {cell for cell in cells if cell.damage == damage} - results.keys()
        with progress_bar(f"Cora, {damage} edges", len(missing), shown=shown) as advance:
            while missing:
                cell, outcome = next(trained)
                results[cell] = outcome
                if cell in missing:
                    missing.remove(cell)
                    advance(1, outcome.mean_val)
        yield damage, tabulate(results, damage)


def show(rows: dict[str, list[Summary]], damage: str, runs: int) -> None:
    """One table: mean test accuracy in % and its 95 % interval."""
    with optional_imports():
        from rich.console import Console
        from rich.table import Table

    from elasticgnn.demo.trainings import DAMAGES, MODELS

    table = Table(title=TITLES[damage].format(runs=runs), title_justify="left")
    table.add_column("accuracy in %")
    for share in DAMAGES[damage]:
        table.add_column(f"{share:.0%}", justify="right", no_wrap=True)
    for model, summaries in rows.items():
        cells = [f"{100 * s.mean:.1f} ± {100 * s.margin:.1f}" for s in summaries]
        table.add_row(MODELS[model], *cells)
    Console(width=96).print(table)
