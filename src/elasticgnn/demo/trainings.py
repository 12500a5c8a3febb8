"""The trainings of `elasticgnn demo`: models on Cora with damaged edges, spread over processes.

Nothing here loads torch before the processes run: they load it side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask, Split
    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import History, TrainingPlan
    from elasticgnn.training.repeats.summary import Summary

MODELS = {"elastic": "ElasticGNN", "appnp": "APPNP", "gcn": "GCN", "mlp": "MLP (no graph)"}
# Shares of the edges that are damaged: wrong ones added at random, or Metattack's flips.
DAMAGES: dict[str, tuple[float, ...]] = {
    "random": (0.0, 0.1, 0.2, 0.3, 0.4),
    "metattack": (0.0, 0.05, 0.1, 0.2),
}
# ElasticGNN with and without the squared term, APPNP with two teleports: validation chooses.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "elastic": ({"lambda1": 3.0, "lambda2": 3.0}, {"lambda1": 3.0, "lambda2": 0.0}),
    "appnp": ({"alpha": 0.1}, {"alpha": 0.2}),
    "gcn": ({},),
    "mlp": ({},),
}


@dataclass(frozen=True)
class Cell:
    """All variants of a model on Cora with a share of its edges damaged, over all runs."""

    model: str
    damage: str
    share: float
    runs: int
    epochs: int
    seed: int


@dataclass(frozen=True)
class Outcome:
    """Accuracies of the variant that is best in validation, one per run."""

    test: list[float]
    val: list[float]

    @property
    def mean_val(self) -> float:
        """Mean validation accuracy over the runs."""
        return sum(self.val) / len(self.val)


def list_cells(runs: int, epochs: int, seed: int) -> list[Cell]:
    """Kind by kind of damage, the slowest cells first; the MLP, blind to edges, once per kind."""
    return [
        Cell(model, damage, share, runs, epochs, seed)
        for damage, shares in DAMAGES.items()
        for model in ("elastic", "gcn", "appnp", "mlp")
        for share in (shares[:1] if model == "mlp" else shares)
    ]


def train_all(cells: list[Cell], jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    """Cells with their outcomes as they are finished, spread over processes of one thread."""
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
    """Trains one cell; run k has the same nodes and the same damage for every model."""
    import torch

    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainingPlan

    torch.set_num_threads(1)
    task, splits = damaged(cell)
    variants = [replace(ModelSettings(cell.model), **options) for options in VARIANTS[cell.model]]
    plan = TrainingPlan(epochs=cell.epochs, ties="first")
    histories = train_variants(task, splits, variants, plan, cell.seed)
    outcomes = [
        Outcome([h.test_accuracy for h in part], [h.val_accuracy for h in part])
        for part in histories
    ]
    return max(outcomes, key=lambda outcome: outcome.mean_val)


def damaged(cell: Cell) -> tuple[NodeTask, list[Split]]:
    """Cora with wrong edges and a fresh split per run, or Metattack's graph and its one split."""
    import torch

    from elasticgnn.attack import shipped
    from elasticgnn.data import add_wrong_edges, load, paper_split

    if cell.damage == "metattack":  # words as 0/1, as in the literature on attacks
        task = shipped().apply_to(load("cora", normalize_features=False), cell.share)
        assert task.split is not None  # every shipped file names the split it was made for
        return task, [task.split] * cell.runs
    clean, generator = load("cora"), torch.Generator().manual_seed(cell.seed)
    splits = [paper_split(clean, generator) for _ in range(cell.runs)]
    wrong = torch.Generator().manual_seed(cell.seed + 1)
    return add_wrong_edges(clean, cell.share, wrong), splits


def train_variants(
    task: NodeTask,
    splits: list[Split],
    variants: list[ModelSettings],
    plan: TrainingPlan,
    seed: int,
) -> list[list[History]]:
    """The histories of each variant on every split, all in one batch of runs.

    A batch costs the same for one run of ElasticGNN as for sixteen: eight runs of two variants
    fill it.
    """
    from elasticgnn.training import fit_population
    from elasticgnn.training.population.run import run_of

    runs = [
        run_of(settings, plan, split, seed + k)
        for settings in variants
        for k, split in enumerate(splits)
    ]
    histories = fit_population(task, runs, variants[0], plan)
    return [histories[k : k + len(splits)] for k in range(0, len(runs), len(splits))]


def tabulate(results: dict[Cell, Outcome], damage: str) -> dict[str, list[Summary]]:
    """Per model one summary for each share of edges damaged; the MLP has the same for all."""
    from elasticgnn.training.repeats.summary import summarize

    found = {
        (cell.model, cell.share): outcome.test
        for cell, outcome in results.items()
        if cell.damage == damage
    }
    shares = DAMAGES[damage]
    return {
        model: [summarize(found.get((model, s), found[model, shares[0]])) for s in shares]
        for model in MODELS
    }
