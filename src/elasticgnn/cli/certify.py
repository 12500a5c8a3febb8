"""`elasticgnn certify`: which predictions no few flipped edges can change."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.say import say, say_notes
from elasticgnn.cli.task_files import read_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elasticgnn.certify import Certificate
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.training import TrainedModel


COLUMNS = ("node", "class", "lower", "upper", "additions", "deletions")


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("certify")(reads_tables(certify_command))


def certify_command(
    model: Annotated[Path, typer.Argument(help="model file from `elasticgnn train -o`")],
    data: Annotated[
        str | None, typer.Argument(help="data set, or an edge file (default: what it was made on)")
    ] = None,
    features: Annotated[Path | None, typer.Option(help="features of own nodes")] = None,
    labels: Annotated[Path | None, typer.Option(help="classes of own nodes")] = None,
    p_plus: Annotated[float, typer.Option(help="chance that a missing edge comes")] = 0.0001,
    p_minus: Annotated[float, typer.Option(help="chance that an edge goes")] = 0.8,
    samples: Annotated[int, typer.Option(help="noisy graphs that vote")] = 10_000,
    alpha: Annotated[float, typer.Option(help="chance that a node's bounds are wrong")] = 0.01,
    radius: Annotated[int, typer.Option(help="largest number of flips to certify")] = 10,
    denoise: Annotated[
        float | None,
        typer.Option(help="ElasticGNN: drop edges whose ends agree with less than this chance"),
    ] = None,
    seed: Annotated[int, typer.Option(help="fixes the noise")] = 0,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV: one node a row")] = (
        None
    ),
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    *,
    layout: TableLayout,
) -> None:
    """Smooths the model over noisy graphs and says how many edge flips each prediction survives.

    The graph is that of the data set the model was trained on, another one by its name, or own
    files: an edge table source,target with --features (id and numbers) and --labels (id,label).
    The CSV has a row for each node.
    Example: elasticgnn certify m.st edges.csv --features features.csv --labels labels.csv -o c.csv
    """
    import numpy as np

    from elasticgnn.certify import SparseNoise, certify, count_votes
    from elasticgnn.files import check_output
    from elasticgnn.training import TrainedModel
    from elasticgnn.training.model.known_classes import as_trained
    from elasticgnn.training.model.roles import scored_nodes

    noise = SparseNoise(p_plus, p_minus)
    check_numbers(samples, radius, alpha, denoise, seed)
    if output is not None:
        check_output(output, inputs=(model, data, features, labels))
    trained = TrainedModel.load(model)
    given = read_for(trained, data, features, labels, data_root, layout)
    nodes, task = scored_nodes(trained, given), as_trained(trained, given)
    if len(nodes) == 0:
        raise ValueError("labels must name the class of some nodes, got none (use --labels)")
    say_notes([*task.notes, *scope(trained, given)])
    predict = voter(trained, task, denoise)
    began = time.perf_counter()
    votes = count_votes(
        predict, task, noise, samples, np.random.default_rng(seed), progress=line(samples, as_json)
    )
    known = certify(votes, noise, alpha, weighted=not task.graph.is_unweighted)
    facts = describe(known, task, nodes, radius)
    facts |= {"denoise": denoise, "seconds": time.perf_counter() - began}
    if output is not None:
        write(output, known, task, radius)
        facts["saved"] = str(output)
    report(facts, as_json)


def scope(trained: TrainedModel, task: NodeTask) -> list[str]:
    """Notes on what the certificate says nothing of."""
    notes = []
    if task.made_features:
        notes.append("features are made from the graph: certified with them as they are")
    is_same = trained.data.get("fingerprint") == task.fingerprint
    if is_same and not (trained.facts.get("split") or {}).get("test"):
        notes.append("the model names no test nodes: those that it was trained on are among them")
    return notes


def check_numbers(
    samples: int, radius: int, alpha: float, denoise: float | None, seed: int
) -> None:
    """Refuses numbers that no certificate has."""
    if seed < 0:
        raise ValueError(f"seed must be >= 0, got {seed}")
    if samples < 1 or radius < 0 or not 0 < alpha < 1:
        raise ValueError(
            "samples must be >= 1, radius >= 0 and alpha in (0, 1), "
            f"got {samples}, {radius}, {alpha}"
        )
    if denoise is not None and not 0 <= denoise <= 1:
        raise ValueError(f"denoise must be in [0, 1], got {denoise}")


def voter(trained: TrainedModel, task: NodeTask, denoise: float | None) -> Any:
    """What the model answers on many graphs, each without its doubtful edges if asked for."""
    from elasticgnn.attack.many_graphs import predictor
    from elasticgnn.certify.votes import denoising_predictor

    if denoise is None:
        return predictor(trained.model, task, trained.logit_offset)
    return denoising_predictor(trained.model, task, denoise, trained.logit_offset)


def describe(
    known: Certificate, task: NodeTask, nodes: NDArray[Any], radius: int
) -> dict[str, Any]:
    """Accuracy of the smoothed model and how much of it is certified, by radius."""
    labels = task.labels.numpy()

    def accuracy(additions: int, deletions: int) -> float:
        return known.accuracy(labels, nodes, additions, deletions)

    radii = range(radius + 1)
    return {
        "data": task.name,
        "nodes": len(nodes),
        "p_plus": known.noise.p_plus,
        "p_minus": known.noise.p_minus,
        "samples": known.samples,
        "alpha": known.alpha,
        "smoothed_accuracy": known.smoothed_accuracy(labels, nodes),
        "certified": {
            "additions": [accuracy(r, 0) for r in radii],
            "deletions": [accuracy(0, r) for r in radii],
        },
    }


def write(path: Path, known: Certificate, task: NodeTask, radius: int) -> None:
    """One row per node: its class, the bounds, and the largest certified radii (-1: none)."""
    from elasticgnn.files import csv_text, write_whole
    from elasticgnn.training.model.known_columns import node_names

    added, removed = known.radii(radius)
    rows = []
    for i, name in enumerate(node_names(task)):
        kind = task.class_names[int(known.label[i])]
        bounds = (f"{known.lower[i]:.6f}", f"{known.upper[i]:.6f}")
        rows.append((name, kind, *bounds, added[i], removed[i]))
    write_whole(path, csv_text(COLUMNS, rows))


def line(samples: int, as_json: bool) -> Any:
    """A function that rewrites one line on stderr."""

    def show(done: int) -> None:
        if not as_json and sys.stderr.isatty():
            say(f"{done} of {samples} noisy graphs", end="\r", file=sys.stderr)

    return show


def report(facts: dict[str, Any], as_json: bool) -> None:
    """Prints the certified shares, as text or as one JSON object."""
    if as_json:
        say(json.dumps(facts))
        return
    say(
        f"{facts['data']}: smoothed accuracy {100 * facts['smoothed_accuracy']:.1f} % of "
        f"{facts['nodes']} nodes, {facts['samples']} samples, {facts['seconds']:.1f} s"
    )
    for kind, shares in facts["certified"].items():
        cells = "  ".join(f"{r}: {100 * share:.1f}" for r, share in enumerate(shares))
        say(f"certified, {kind} (%)  {cells}")
    if "saved" in facts:
        say(f"saved as {facts['saved']}")
