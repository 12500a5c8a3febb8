"""`elasticgnn predict`: what a saved model predicts for every node."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.say import say, say_exactly, say_notes
from elasticgnn.cli.task_files import read_for

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.training import Prediction, TrainedModel

SIGNS = ("|", ";", "&", "+", " | ")  # between the classes of a set


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("predict")(reads_tables(predict))


def predict(
    model: Annotated[Path, typer.Argument(help="model file from `elasticgnn train -o`")],
    edges: Annotated[str, typer.Argument(help="edge file, or the name of a data set")],
    features: Annotated[Path | None, typer.Option(help="features of the nodes")] = None,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    coverage: Annotated[
        float | None, typer.Option(help="adds a set of classes that holds the true one so often")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    *,
    layout: TableLayout,
) -> None:
    """Writes the class of every node, how sure it is, and how far its neighbours moved it.

    The columns: node, class, role (trained on, held out, unknown), probability, moved, and each
    class's probability. Edges are a table source,target[,weight], features one with id and numbers.
    Features are found by the names of their columns. --coverage needs a model that was tuned.
    A model of --target number writes node, value, role, moved, and the ends of an interval.
    Example: elasticgnn predict m.st edges.csv --features features.csv --coverage 0.9 -o out.csv
    """
    from elasticgnn.files import check_output, write_whole
    from elasticgnn.training import TrainedModel

    if output is not None:
        check_output(output, inputs=(model, edges, features))
    trained = TrainedModel.load(model)
    task = read_for(trained, edges, features, None, data_root, layout)
    say_notes(trained.with_known_columns(task).notes)
    if trained.unit is not None:
        write_numbers(trained, task, coverage, output, as_json)
        return
    prediction = trained.predict(task)
    rows = table(task, trained, prediction)
    if coverage is not None:
        held = add_sets(rows, trained, prediction, coverage)
    if as_json:
        say(json.dumps({"model": str(model), "predictions": rows}))
        if output is None:
            return
    text = as_csv(rows)
    if output is None:
        say_exactly(text)
        return
    write_whole(output, text)
    if not as_json:
        moved = prediction.num_mostly_moved
        say(f"{len(rows)} nodes written to {output}; {moved} were mostly moved by neighbours")
        if coverage is not None:
            say(held)


def write_numbers(
    trained: TrainedModel,
    task: NodeTask,
    coverage: float | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Prints or writes the numbers of a regression model with their intervals."""
    from elasticgnn.files import write_whole

    asked = 0.9 if coverage is None else coverage
    rows = number_rows(trained, task, asked)
    if as_json:
        say(json.dumps({"predictions": [finite(row) for row in rows]}))
    if output is not None:
        write_whole(output, as_csv(rows))
        if not as_json:
            say(f"{len(rows)} nodes written to {output}")
            say(interval_words(trained, asked))
    elif not as_json:
        say_exactly(as_csv(rows))


def number_rows(trained: TrainedModel, task: NodeTask, coverage: float) -> list[dict[str, object]]:
    """One row per node: its number, its role, how far neighbours moved it, and its interval."""
    from elasticgnn.files import significant
    from elasticgnn.training.model.roles import node_roles

    numbers = trained.predict_numbers(task)
    low, high = numbers.interval(trained.half_width(coverage))
    roles = node_roles(trained, task) or [""] * task.num_nodes
    spread = 0.0 if trained.unit is None else trained.unit[1]
    return [
        {
            "node": node,
            "value": float(significant(value, 7, spread)),
            "role": role,
            "moved": float(f"{moved:.7g}"),
            "low": float(significant(lower, 7, spread)),
            "high": float(significant(upper, 7, spread)),
        }
        for node, role, value, moved, lower, upper in zip(
            *(task.ids, roles),
            *(part.tolist() for part in (numbers.value, numbers.moved, low, high)),
            strict=True,
        )
    ]


def finite(row: dict[str, object]) -> dict[str, object]:
    """The row with null for an interval without end, which JSON has no number for."""
    endless = (-math.inf, math.inf)
    return {name: None if value in endless else value for name, value in row.items()}


def table(task: NodeTask, trained: TrainedModel, prediction: Prediction) -> list[dict[str, object]]:
    """One row per node; its role is empty where the model file does not know it."""
    from elasticgnn.training.model.roles import node_roles

    names = trained.class_names
    roles = node_roles(trained, task) or [""] * task.num_nodes
    parts = (prediction.label, prediction.confidence, prediction.moved, prediction.probability)
    rows = zip(task.ids, roles, *(part.tolist() for part in parts), strict=True)
    return [
        {
            "node": node,
            "class": trained.class_names[label],
            "role": role,
            "probability": round(probability, 6),
            "moved": round(moved, 6),
            **{f"p({name})": round(p, 6) for name, p in zip(names, every, strict=True)},
        }
        for node, role, label, probability, moved, every in rows
    ]


def add_sets(
    rows: list[dict[str, object]], trained: TrainedModel, prediction: Prediction, coverage: float
) -> str:
    """Adds to each row the classes its node may have, best first; how large the sets are."""
    from elasticgnn.training.prediction.conformal import conformal_sets, set_sizes

    scores = trained.facts.get("conformal")
    if not scores:
        raise ValueError("coverage must be asked of a model that `train` has tuned, got another")
    probability = prediction.probability.numpy()
    inside = conformal_sets(probability, scores, coverage)
    order = (-probability).argsort(1)
    sign = sign_between(trained.class_names)
    for row, allowed, best in zip(rows, inside, order, strict=True):
        row["set"] = sign.join(trained.class_names[k] for k in best if allowed[k])
    few = too_few(scores, coverage)
    found = set_sizes(inside)
    sizes = (
        f"{found.mean:.2f} classes on average, "
        f"{100 * found.one:.0f} % of nodes have one, {100 * found.none:.0f} % none"
    )
    size = f"all classes, {few}" if few else sizes
    size += "" if sign == "|" else f", {sign!r} between its classes"
    return f"sets for {100 * coverage:g} %: {size}{on_holdout(trained, 'sets', 'class')}"


def sign_between(names: tuple[str, ...]) -> str:
    """What separates the classes of a set: a sign that is in no name, | if it can be."""
    return next((sign for sign in SIGNS if not any(sign in name for name in names)), SIGNS[-1])


def interval_words(trained: TrainedModel, coverage: float) -> str:
    """How wide the intervals are, and how often those for 90 % held the number."""
    few = too_few(trained.interval_scores, coverage)
    width = f"without end, {few}" if few else f"{trained.half_width(coverage):.4g} to either side"
    measured = on_holdout(trained, "intervals", "number")
    return f"intervals for {100 * coverage:g} %: {width}{measured}"


def too_few(scores: list[float], coverage: float) -> str:
    """That so many scores of nodes held out cannot say what holds so often; empty if they can."""
    from elasticgnn.training.prediction.conformal import largest_coverage, threshold

    if threshold(scores, coverage) < math.inf:
        return ""
    most = 100 * largest_coverage(scores)
    return f"since {len(scores)} nodes held out vouch for at most {most:.4g} %"


def on_holdout(trained: TrainedModel, what: str, held: str) -> str:
    """How often sets or intervals for 90 % held what they should; older files do not say."""
    board = trained.facts.get("leaderboard")
    if not board:
        return ""
    nodes, share = board["estimate"]["nodes"], board["coverage"]
    words = f"; {what} for 90 % held the {held} of {100 * share:.1f} % of {nodes} nodes kept away"
    return words + by_chance(board.get("coverage_range"))


def by_chance(between: tuple[float, float] | None) -> str:
    """Where chance alone lets the share of right sets lie; older model files do not say."""
    if between is None:
        return ""
    return f" (by chance {100 * between[0]:.1f} to {100 * between[1]:.1f})"


def as_csv(rows: list[dict[str, object]]) -> str:
    """The rows as CSV with a header."""
    from elasticgnn.files import csv_text

    return csv_text(list(rows[0]) if rows else ["node"], (row.values() for row in rows))
