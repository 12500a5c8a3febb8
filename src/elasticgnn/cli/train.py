"""`elasticgnn train`: a model on a data set or on one's own files, several splits, one file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticgnn.cli.given import check_one_graph, flag, is_given
from elasticgnn.cli.norms import NormOption
from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.task_files import attacked, check_target, read, usual_settings
from elasticgnn.cli.train_given import GivenRequest, train_given
from elasticgnn.cli.train_parts import PartsRequest, check_alone, refuse_options, train_parts
from elasticgnn.cli.train_report import Places
from elasticgnn.cli.train_tuned import TuneRequest, train_tuned

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask, Split
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.training import Splitting

# options that say how to train: with one of them given, nothing is tuned
SETTINGS = (
    *("model", "splits", "lambda1", "lambda2", "norm", "concavity", "steps", "alpha", "hidden"),
    *("dropout", "learning_rate", "weight_decay", "epochs", "patience"),
)

Epochs = Annotated[int, typer.Option(help="at most this many epochs")]


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("train")(reads_tables(train))


def train(
    context: typer.Context,
    data: Annotated[
        str, typer.Argument(help="a name from `elasticgnn data list`, or a partition folder")
    ] = "cora",
    model: Annotated[str, typer.Option(help="elastic, mlp, gcn, gat, cheb, sage, appnp or sgc")] = (
        "elastic"
    ),
    splits: Annotated[
        int | None,
        typer.Option(help="random splits (default: 10; one beyond 100,000 nodes of own files)"),
    ] = None,
    seed: Annotated[int, typer.Option(help="fixes splits, weights and dropout")] = 0,
    lambda1: Annotated[
        float | None, typer.Option(help="weight of the edge norm (default: 3; own files: 1)")
    ] = None,
    lambda2: Annotated[
        float | None, typer.Option(help="of squared differences (default: 3; own files: 1)")
    ] = None,
    norm: NormOption = "l21",
    concavity: Annotated[
        float | None,
        typer.Option(help="concave norms: differences beyond this x lambda1 cost no more"),
    ] = None,
    steps: Annotated[int, typer.Option(help="propagation steps (K)")] = 10,
    alpha: Annotated[float, typer.Option(help="teleport probability of appnp")] = 0.1,
    hidden: Annotated[int, typer.Option(help="hidden units")] = 64,
    dropout: Annotated[float, typer.Option(help="share of values dropped")] = 0.5,
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
    tune: Annotated[
        str, typer.Option(help="own files: auto compares models unless settings are given; off")
    ] = "auto",
    minutes: Annotated[float, typer.Option(help="time for comparing models")] = 3.0,
    metric: Annotated[
        str, typer.Option(help="auto, accuracy, balanced, auc, f1, logloss; numbers: r2, mae, rmse")
    ] = "auto",
    target: Annotated[
        str, typer.Option(help="own files: what labels are, class or number (regression)")
    ] = "class",
    split_column: Annotated[
        str | None, typer.Option(help="column of the labels that says train, val or test")
    ] = None,
    split: Annotated[
        Path | None, typer.Option(help="own files: table of ids and train, val or test; or .json")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="column of the labels whose groups stay together")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="column of the labels whose latest nodes are held out")
    ] = None,
    folds: Annotated[int, typer.Option(help="own files: parts of the cross-validation")] = 4,
    class_weights: Annotated[
        str, typer.Option(help="none, balanced, or auto: balanced for metrics balanced and f1")
    ] = "auto",
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="partition folder: file to resume from (default: OUTPUT.checkpoint)"),
    ] = None,
    checkpoint_every: Annotated[int, typer.Option(help="epochs between two checkpoints")] = 10,
    page: Annotated[
        Path | None, typer.Option("--report", help="HTML page about the model, to look at")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    *,
    layout: TableLayout,
) -> None:
    """Trains a model and says how good it is: on data sets over several random splits.

    On own files (--edges edges.csv with columns source,target[,weight]; --features features.csv
    with id and numbers; --labels labels.csv with id,label) it compares models, saves the best, and
    measures it on nodes that had no part in the choice. Given settings are used as they are.
    With --target number the labels are numbers to predict.
    Example: elasticgnn train --edges edges.csv --features features.csv --labels labels.csv -o m.st
    """
    from elasticgnn.training import Splitting, TrainingPlan
    from elasticgnn.training.tuning.metrics import is_balanced

    settings = usual_settings(model, edges, lambda1, lambda2)
    settings = replace(settings, hidden_channels=hidden, dropout=dropout, steps=steps, alpha=alpha)
    settings = replace(settings, norm=norm, concavity=concavity)
    weighted = is_balanced(class_weights, metric)
    plan = TrainingPlan(learning_rate, weight_decay, epochs, patience, balanced=weighted)
    splitting = Splitting(parts_column(split, split_column), groups, time, folds)
    kind_of_target = check_target(target, edges)
    check_choices(tune, splitting.columns, edges)
    check_one_graph(context, edges)
    places = Places(output, page, as_json)
    places.check((edges, features, labels, attack))
    named = [option for option in context.params if is_given(context, option)]
    if Path(data).is_dir() and edges is None:
        refuse_options(named)
        parts = PartsRequest(seed, checkpoint, checkpoint_every)
        return train_parts(Path(data), settings, plan, parts, places)
    check_alone(data, named)
    layout = replace(layout, further=columns_of(split_column, groups, time))
    task = read(data, edges, features, labels, data_root, target=kind_of_target, layout=layout)
    task = split_and_attacked(task, split, attack, splitting, layout)
    given = [option for option in SETTINGS if option in named]
    refuse_settings_for(task, given, tune, class_weights)
    if edges is not None and tune == "auto" and not given:
        return train_tuned(task, TuneRequest(minutes, metric, seed, splitting, weighted), places)
    refuse_unused(named, given)
    own, by_column = edges is not None, "folds" in named or bool(splitting.columns)
    chosen = choose_splits(task, splitting if by_column else splits, seed, own=own)
    train_given(task, GivenRequest(settings, plan, seed, own=own), chosen, places)


def columns_of(*names: str | None) -> tuple[str, ...]:
    """The names that were given."""
    return tuple(name for name in names if name is not None)


def split_and_attacked(
    task: NodeTask,
    split: Path | None,
    attack: Path | None,
    splitting: Splitting,
    layout: TableLayout,
) -> NodeTask:
    """The task with the parts of a split file and the flips of an attack, if they are given."""
    from elasticgnn.data.own.split_file import with_split_file
    from elasticgnn.training.tuning.splitting import with_split_notes

    task = task if split is None else with_split_file(task, split, layout)
    return with_split_notes(attacked(task, attack), splitting)


def choose_splits(
    task: NodeTask, rule: Splitting | int | None, seed: int, *, own: bool
) -> list[Split]:
    """Splits by columns or folds, or so many random ones."""
    from elasticgnn.data.splits import draw_splits
    from elasticgnn.training import Splitting
    from elasticgnn.training.splits.own import own_splits

    if isinstance(rule, Splitting):
        return own_splits(task, rule, seed)
    return draw_splits(task, rule, seed, own=own)


def parts_column(split: Path | None, split_column: str | None) -> str | None:
    """The column that says train, val or test: of the labels, or named after a split file."""
    if split is not None and split_column is not None:
        raise ValueError("--split and --split-column must be given one at a time, got both")
    return split_column if split is None else split.name


def check_choices(tune: str, columns: tuple[str, ...], edges: Path | None) -> None:
    """Refuses words that --tune does not know, and columns of labels that nothing brings."""
    if tune not in ("auto", "off"):
        raise ValueError(f"tune must be auto or off, got {tune}")
    if edges is None and columns:
        raise ValueError(f"--edges must be given with a column of labels, got {columns}")


def refuse_settings_for(task: NodeTask, given: list[str], tune: str, class_weights: str) -> None:
    """Refuses settings where the labels are numbers, whose models are compared, and classes'."""
    if task.values is None:
        return
    if given or tune == "off":
        option = flag(given[0]) if given else "--tune off"
        raise ValueError(f"--target number must be left to compare models, got {option}")
    if class_weights == "balanced":
        raise ValueError("--class-weights must go with classes, got --target number")


def refuse_unused(named: list[str], given: list[str]) -> None:
    """Refuses options that only a comparison of models would look at."""
    for option in ("metric", "minutes"):
        if option in named:
            why = flag(given[0]) if given else "none"
            raise ValueError(
                f"--{option} must go with a comparison of models (own files, no settings), "
                f"got {why} beside it"
            )
