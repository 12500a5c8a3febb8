"""`elasticgnn demo`: what wrong edges do to four models on Cora, as a table and a picture."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from elasticgnn.training.summary import Summary

MODELS = {"elastic": "ElasticGNN", "appnp": "APPNP", "gcn": "GCN", "mlp": "MLP (no graph)"}
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
# ElasticGNN with and without the squared term, APPNP with two teleports: validation chooses.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "elastic": ({"lambda1": 3.0, "lambda2": 3.0}, {"lambda1": 3.0, "lambda2": 0.0}),
    "appnp": ({"alpha": 0.1}, {"alpha": 0.2}),
    "gcn": ({},),
    "mlp": ({},),
}


@dataclass(frozen=True)
class Cell:
    """One variant of a model on Cora with a share of wrong edges, over all splits."""

    model: str
    variant: int
    share: float
    splits: int
    epochs: int
    seed: int


@dataclass(frozen=True)
class Outcome:
    """Accuracies of a cell, one per split."""

    test: list[float]
    val: list[float]

    @property
    def mean_val(self) -> float:
        return sum(self.val) / len(self.val)


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    splits: Annotated[int, typer.Option(help="number of random splits")] = 10,
    epochs: Annotated[int, typer.Option(help="at most this many epochs")] = 200,
    seed: Annotated[int, typer.Option(help="fixes splits, wrong edges, weights, dropout")] = 0,
    jobs: Annotated[int, typer.Option(help="processes [default: one per processor]")] = 0,
    output: Annotated[Path, typer.Option("-o", "--output", help="picture")] = Path(
        "elasticgnn-demo.png"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Trains ElasticGNN, APPNP, GCN and an MLP on Cora, with 0 to 40 % wrong edges added."""
    from elasticgnn.cli.demo_picture import draw

    if splits < 1 or epochs < 1:
        raise ValueError(f"splits and epochs must be >= 1, got {splits} and {epochs}")
    if not output.parent.is_dir():
        raise ValueError(f"output must be in a folder that exists, got {output}")
    began = time.perf_counter()
    results = run_cells(list_cells(splits, epochs, seed), jobs or os.cpu_count() or 1, not as_json)
    rows = tabulate(results)
    draw(rows, output)
    seconds = time.perf_counter() - began
    if as_json:
        table = {name: [asdict(cell) for cell in row] for name, row in rows.items()}
        print(json.dumps({"shares": SHARES, "models": table, "picture": str(output)}))
        return
    show(rows, splits)
    print(f"picture: {output.resolve()}\n{seconds:.0f} s")


def list_cells(splits: int, epochs: int, seed: int) -> list[Cell]:
    """Every cell, the slowest first; the MLP does not see the edges and is needed once."""
    cells = [
        Cell(model, variant, share, splits, epochs, seed)
        for model in ("gcn", "elastic", "appnp")
        for variant in range(len(VARIANTS[model]))
        for share in SHARES
    ]
    return [*cells, Cell("mlp", 0, 0.0, splits, epochs, seed)]


def run_cells(cells: list[Cell], jobs: int, shown: bool) -> dict[Cell, Outcome]:
    """The outcome of every cell, cells spread over processes of one thread."""
    from elasticgnn.cli.progress import progress_bar

    results: dict[Cell, Outcome] = {}
    with progress_bar("Cora with wrong edges", len(cells), shown=shown) as advance:
        for cell, outcome in train_all(cells, min(jobs, len(cells))):
            results[cell] = outcome
            advance(1, outcome.mean_val)
    return results


def train_all(cells: list[Cell], jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    import multiprocessing

    if jobs == 1:
        yield from ((cell, train_cell(cell)) for cell in cells)
        return
    # Fresh processes: threads of an already running torch do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        waiting = {pool.submit(train_cell, cell): cell for cell in cells}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def train_cell(cell: Cell) -> Outcome:
    """Trains one cell; split k has the same nodes for every model."""
    import torch

    from elasticgnn.data import add_wrong_edges, load, paper_split
    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainingPlan
    from elasticgnn.training.repeat import fit_repeatedly

    torch.set_num_threads(1)
    clean, generator = load("cora"), torch.Generator().manual_seed(cell.seed)
    splits = [paper_split(clean, generator) for _ in range(cell.splits)]
    task = add_wrong_edges(clean, cell.share, torch.Generator().manual_seed(cell.seed + 1))
    name: Any = cell.model
    settings = replace(ModelSettings(name), **VARIANTS[cell.model][cell.variant])
    plan = TrainingPlan(epochs=cell.epochs)
    histories = fit_repeatedly(task, splits, settings, plan, seed=cell.seed).histories
    return Outcome([h.test_accuracy for h in histories], [h.val_accuracy for h in histories])


def tabulate(results: dict[Cell, Outcome]) -> dict[str, list[Summary]]:
    """Per model one summary for each share of wrong edges, of the variant best in validation."""
    from elasticgnn.training.summary import summarize

    chosen: dict[tuple[str, float], Outcome] = {}
    for cell, outcome in sorted(results.items(), key=lambda item: item[0].variant):
        place = cell.model, cell.share
        if place not in chosen or outcome.mean_val > chosen[place].mean_val:
            chosen[place] = outcome
    return {
        model: [summarize(chosen.get((model, share), chosen[model, 0.0]).test) for share in SHARES]
        for model in MODELS
    }


def show(rows: dict[str, list[Summary]], splits: int) -> None:
    """The table: mean test accuracy in % and its 95 % interval."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Cora, test accuracy in %, mean and 95 % interval of {splits} splits")
    table.add_column("wrong edges added")
    for share in SHARES:
        table.add_column(f"{share:.0%}", justify="right", no_wrap=True)
    for model, summaries in rows.items():
        cells = [f"{100 * s.mean:.1f} ± {100 * s.margin:.1f}" for s in summaries]
        table.add_row(MODELS[model], *cells)
    Console(width=88).print(table)
    print("lambda2 of ElasticGNN (0 or 3) and alpha of APPNP (0.1 or 0.2) chosen by validation")
