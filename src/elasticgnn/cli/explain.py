"""`elasticgnn explain`: which neighbours and features moved the prediction of one node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.say import say

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.training.explanation import Explanation


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

    Exact: the model is asked again without each edge, and with each feature at its neutral value.
    Example: elasticgnn explain m.st edges.csv acc7 --features features.csv --plot acc7.png
    """
    from elasticgnn.cli.predict import read
    from elasticgnn.files import check_picture
    from elasticgnn.report.model.neighbourhood import save_explanation
    from elasticgnn.training import TrainedModel
    from elasticgnn.training import explain as explained

    if top < 1:
        raise ValueError(f"top must be >= 1, got {top}")
    if plot is not None:
        check_picture(plot, "plot")
    trained = TrainedModel.load(model)
    if trained.unit is not None:
        raise ValueError("model must predict classes to be explained, got one of --target number")
    task = read(edges, features, data_root, layout)
    known = explained(trained, task, number_of(task, node), label=label)
    if plot is not None:
        save_explanation(known, trained.class_names, plot)
    if as_json:
        say(json.dumps(known.to_json()))
        return
    for line in summary_lines(known, top):
        say(line)
    if plot is not None:
        say(f"wrote the picture to {plot}")


def number_of(task: NodeTask, name: str) -> int:
    """The number of the node with this id."""
    from elasticgnn.training.trained_model import node_names

    names = node_names(task)
    if name not in names:
        raise ValueError(f"node must be an id of the edges or features, got {name!r}")
    return names.index(name)


def summary_lines(known: Explanation, top: int) -> list[str]:
    """The explanation line by line; effects in points of probability."""
    near, own = known.neighbours[:top], known.features[:top]
    lines = [
        f"{known.name}: {known.label} {100 * known.probability:.1f} % "
        f"({100 * known.alone:.1f} % without any edge)",
        f"neighbours ({len(near)} of {known.num_neighbours}), points their edges add:",
        *(f"  {100 * part.effect:+7.2f}  {part.name} ({part.label})" for part in near),
    ]
    if known.num_features:
        lines.append(f"its own features ({len(own)} of {known.num_features}), points they add:")
        lines += [f"  {100 * part.effect:+7.2f}  {part.name} = {part.value:.6g}" for part in own]
    return [*lines, f"method: {known.method}"]
