"""`elasticgnn train`: a model on a data set or on one's own files, several splits, one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask, Split
    from elasticgnn.training.repeat import Repeated

Epochs = Annotated[int, typer.Option(help="at most this many epochs")]


def register(app: typer.Typer) -> None:
    app.command("train")(train)


def train(
    data: Annotated[str, typer.Argument(help="a name from `elasticgnn data list`")] = "cora",
    model: Annotated[str, typer.Option(help="elastic, mlp, gcn, gat, cheb, sage, appnp or sgc")] = (
        "elastic"
    ),
    splits: Annotated[int, typer.Option(help="number of random splits")] = 10,
    seed: Annotated[int, typer.Option(help="fixes splits, weights and dropout")] = 0,
    lambda1: Annotated[float, typer.Option(help="weight of the edge norm")] = 3.0,
    lambda2: Annotated[float, typer.Option(help="weight of squared differences")] = 3.0,
    norm: Annotated[str, typer.Option(help="l21, l1, mcp or scad")] = "l21",
    steps: Annotated[int, typer.Option(help="propagation steps (K)")] = 10,
    alpha: Annotated[float, typer.Option(help="teleport probability of appnp")] = 0.1,
    hidden: Annotated[int, typer.Option(help="hidden units")] = 64,
    dropout: Annotated[float, typer.Option(help="share of values dropped")] = 0.8,
    learning_rate: Annotated[float, typer.Option(help="of Adam")] = 0.01,
    weight_decay: Annotated[float, typer.Option(help="L2, on all weights")] = 5e-4,
    epochs: Epochs = 500,
    patience: Annotated[
        int | None, typer.Option(help="stop after that many epochs without a better validation")
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="own edges instead of a data set")] = None,
    features: Annotated[Path | None, typer.Option(help="own features")] = None,
    labels: Annotated[Path | None, typer.Option(help="own labels; may be partial")] = None,
    attack: Annotated[
        Path | None, typer.Option(help="flipped edges from `elasticgnn attack`")
    ] = None,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="file for the best model")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Trains a model on several random splits and says how accurate it is."""
    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainingPlan

    kind: Any = model  # ModelSettings refuses unknown names
    measure: Any = norm
    settings = ModelSettings(
        name=kind,
        hidden_channels=hidden,
        dropout=dropout,
        steps=steps,
        lambda1=lambda1,
        lambda2=lambda2,
        norm=measure,
        alpha=alpha,
    )
    plan = TrainingPlan(learning_rate, weight_decay, epochs, patience)
    if output is not None and not output.parent.is_dir():
        raise ValueError(f"output must be in a folder that exists, got {output}")
    task = attacked(read(data, edges, features, labels, data_root), attack)
    chosen = draw_splits(task, splits, seed, own=edges is not None)
    repeated = run(task, settings, plan, chosen, seed, shown=not as_json)
    facts = describe(task, repeated, seed)
    if output is not None:
        save(task, repeated, output, facts)
        facts["saved"] = str(output)
    report(facts, as_json)


def read(
    data: str,
    edges: Path | None,
    features: Path | None,
    labels: Path | None,
    data_root: Path | None,
) -> NodeTask:
    """The named data set, or the task of one's own files."""
    from elasticgnn.data import load, read_task

    if edges is None:
        if features is not None or labels is not None:
            raise ValueError("--edges must be given with --features or --labels, got none")
        return load(data, root=data_root)
    task = read_task(edges, features, labels)
    if len(task.labelled) == 0:
        raise ValueError("labels must name the class of some nodes, got none (use --labels)")
    return task


def attacked(task: NodeTask, flips: Path | None) -> NodeTask:
    """The task with the edge flips of an attack file applied."""
    if flips is None:
        return task
    from dataclasses import replace

    from elasticgnn.attack.perturbation import load_perturbation

    found = load_perturbation(flips)
    changed = found.apply_to(task)
    note = f"attacked by {flips.name}: {len(found)} edges flipped by {found.method}"
    return replace(changed, notes=(*changed.notes, note))


def draw_splits(task: NodeTask, count: int, seed: int, *, own: bool) -> list[Split]:
    """The paper's splits for its data sets; 60/20/20 of the known nodes for one's own."""
    import torch

    from elasticgnn.data import paper_split, share_split

    if count < 1:
        raise ValueError(f"splits must be >= 1, got {count}")
    generator = torch.Generator().manual_seed(seed)
    if not own:
        return [paper_split(task, generator) for _ in range(count)]
    return [share_split(task.labels, generator, train=0.6, val=0.2) for _ in range(count)]


def run(
    task: NodeTask, settings: Any, plan: Any, splits: list[Split], seed: int, *, shown: bool
) -> Repeated:
    """Trains on every split with a progress bar."""
    from elasticgnn.cli.progress import progress_bar
    from elasticgnn.training.repeat import fit_repeatedly

    total = len(splits) * plan.epochs
    with progress_bar(f"{settings.name} on {task.name}", total, shown=shown) as tick:
        return fit_repeatedly(task, splits, settings, plan, seed=seed, progress=tick)


def describe(task: NodeTask, repeated: Repeated, seed: int) -> dict[str, Any]:
    """Everything that the command says, as plain values."""
    from dataclasses import asdict

    from elasticgnn.training.summary import summarize

    histories = repeated.histories
    return {
        "data": task.name,
        "nodes": task.num_nodes,
        "edges": task.graph.num_edges,
        "classes": list(task.class_names),
        "notes": list(task.notes),
        "settings": asdict(repeated.settings),
        "splits": len(histories),
        "test": asdict(summarize([history.test_accuracy for history in histories])),
        "validation": asdict(summarize([history.val_accuracy for history in histories])),
        "runs": [
            {
                "seed": seed + number,
                "test": history.test_accuracy,
                "validation": history.val_accuracy,
                "selected_epoch": history.selected_epoch,
                "epochs": history.epochs,
                "seconds": history.seconds,
                "split": repeated.splits[number].to_lists(),
            }
            for number, history in enumerate(histories)
        ],
        "seconds": sum(history.seconds for history in histories),
    }


def save(task: NodeTask, repeated: Repeated, path: Path, facts: dict[str, Any]) -> None:
    """Writes the model that did best in validation, with its seed and split."""
    from elasticgnn.training import trained_on

    best = facts["runs"][repeated.best]
    known = {"seed": best["seed"], "split": best["split"], "test_accuracy": facts["test"]["mean"]}
    model = repeated.model(task, repeated.best)
    trained_on(task, model, repeated.settings, known).save(path)


def report(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(none_for_nan(facts)))
        return
    for note in facts["notes"]:
        print(f"note: {note}")
    test, count = facts["test"], facts["splits"]
    spread = f" ± {100 * test['deviation']:.1f}" if count > 1 else ""
    print(
        f"{facts['settings']['name']} on {facts['data']}: test accuracy "
        f"{100 * test['mean']:.1f}{spread} % over {count} split{'s' * (count > 1)}, "
        f"validation {100 * facts['validation']['mean']:.1f} %, {facts['seconds']:.1f} s"
    )
    if "saved" in facts:
        print(f"saved the best model in validation as {facts['saved']}")


def none_for_nan(value: Any) -> Any:
    """JSON has no nan."""
    if isinstance(value, dict):
        return {key: none_for_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [none_for_nan(item) for item in value]
    return None if isinstance(value, float) and value != value else value
