"""`elasticgnn explain`: which neighbours and features moved the prediction of one node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.say import say, say_notes

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.training import Explanation, NumberExplanation, TrainedModel


def register(app: typer.Typer) -> None:
    """Adds `elasticgnn explain` to the tool."""
    app.command("explain")(reads_tables(explain))


def explain(
    model: Annotated[Path, typer.Argument(help="model file from `elasticgnn train -o`")],
    edges: Annotated[str, typer.Argument(help="edge file, or the name of a data set")],
    node: Annotated[str, typer.Argument(help="id of the node")],
    features: Annotated[Path | None, typer.Option(help="features of the nodes")] = None,
    label: Annotated[
        str | None, typer.Option("--class", help="class to explain (default: the predicted one)")
    ] = None,
    top: Annotated[int, typer.Option(help="neighbours and features to print")] = 10,
    plot: Annotated[
        Path | None, typer.Option(help="picture of the neighbourhood: .svg, .png or .pdf")
    ] = None,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    *,
    layout: TableLayout,
) -> None:
    """Says by how much each neighbour and each feature moved the prediction of a node.

    In points of probability, or in the unit of the number that a model of --target number predicts.
    Exact: the model is run again without each edge, and with each feature at its neutral value.
    Example: elasticgnn explain m.st edges.csv acc7 --features features.csv --plot acc7.png
    """
    from elasticgnn.cli.task_files import read_for
    from elasticgnn.files import check_picture
    from elasticgnn.report.model.neighbourhood import save_explanation
    from elasticgnn.training import TrainedModel

    if top < 1:
        raise ValueError(f"top must be >= 1, got {top}")
    if plot is not None:
        check_picture(plot, "plot")
    trained = TrainedModel.load(model)
    task = read_for(trained, edges, features, None, data_root, layout)
    say_notes(trained.with_known_columns(task).notes)
    known = explanation_of(trained, task, number_of(task, node), label)
    if plot is not None:
        save_explanation(known, trained.class_names, plot)
    if as_json:
        say(json.dumps(known.to_json()))
        return
    for line in summary_lines(known, top):
        say(line)
    if plot is not None:
        say(f"wrote the picture to {plot}")


def explanation_of(
    trained: TrainedModel, task: NodeTask, node: int, label: str | None
) -> Explanation | NumberExplanation:
    """Why the model gives the node its class, or its number."""
    from elasticgnn.training import explain, explain_number

    if trained.unit is None:
        return explain(trained, task, node, label=label)
    if label is not None:
        raise ValueError(f"--class must be asked of a model of classes, got {label!r} of numbers")
    return explain_number(trained, task, node)


def number_of(task: NodeTask, name: str) -> int:
    """The number of the node with this id."""
    from elasticgnn.data.own.spelling import otherwise_written
    from elasticgnn.training.model.known_columns import node_names

    names = node_names(task)
    if name not in names:
        some = ", ".join(map(repr, names[:3]))
        raise ValueError(
            f"node must be an id of the edges or features ({some}, ...), got {name!r}"
            + otherwise_written(name, list(names))
        )
    return names.index(name)


def summary_lines(known: Explanation | NumberExplanation, top: int) -> list[str]:
    """The explanation line by line; effects in points of probability, or in the number's unit."""
    from elasticgnn.training import Explanation

    near, own = known.neighbours[:top], known.features[:top]
    if isinstance(known, Explanation):
        headline = f"{known.label} {100 * known.probability:.1f} % ({100 * known.alone:.1f} %"
        of = "points"
    else:
        headline = f"{known.written(known.value)} ({known.written(known.alone)}"
        of = "what"
    lines = [
        f"{known.name}: {headline} without any edge)",
        f"neighbours ({len(near)} of {known.num_neighbours}), {of} their edges add:",
        *(f"  {amount(known, part.effect)}  {part.name} ({part.label})" for part in near),
    ]
    if known.num_features:
        lines.append(f"its own features ({len(own)} of {known.num_features}), {of} they add:")
        lines += [f"  {amount(known, part.effect)}  {part.name} = {part.value:.6g}" for part in own]
    return [*lines, f"method: {known.method}"]


def amount(known: Explanation | NumberExplanation, effect: float) -> str:
    """Points of probability, or what is added to the number."""
    from elasticgnn.training import Explanation

    is_class = isinstance(known, Explanation)
    return f"{100 * effect:+7.2f}" if is_class else f"{effect:+.4g}".rjust(9)
