"""`elasticgnn report`: one page without network, about a model or about all stored results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticgnn.cli.given import flag, is_given
from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.say import say, say_notes

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.training import TrainedModel

STUDY_OPTIONS = ("results", "study", "attack", "quick")
ROWS_OPTIONS = ("rows",)
MODEL_OPTIONS = ("features", "labels", "data_root", "plot")


def register(app: typer.Typer) -> None:
    """Adds `elasticgnn report` to the tool."""
    app.command()(reads_tables(report))


def report(
    context: typer.Context,
    model: Annotated[
        Path | None,
        typer.Argument(help="model file: a page about it; without: about stored studies"),
    ] = None,
    edges: Annotated[
        str | None,
        typer.Argument(help="edge file or data set (default: the data set it was trained on)"),
    ] = None,
    features: Annotated[Path | None, typer.Option(help="model: features of the nodes")] = None,
    labels: Annotated[Path | None, typer.Option(help="model: known classes")] = None,
    data_root: Annotated[Path | None, typer.Option(help="model: folder of data files")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="model: picture of its worth, .svg, .png or .pdf")
    ] = None,
    results: Annotated[Path, typer.Option(help="studies: folder of the results")] = Path("results"),
    output: Annotated[Path, typer.Option("-o", "--output", help="the page")] = Path("report.html"),
    study: Annotated[list[str] | None, typer.Option(help="studies: only this one")] = None,
    attack: Annotated[
        Path | None, typer.Option(help="studies: results of `study run --attack`")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="studies: results of --quick runs")
    ] = False,
    rows: Annotated[
        Path | None, typer.Option(help="folder of `robustness --rows`: a page about those")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
    *,
    layout: TableLayout,
) -> None:
    """One HTML file: about a trained model (MODEL given), or about all stored studies.

    A model's page has its worth on nodes kept away, its predictions, suspicious edges,
    and the graph to click through. The studies' page has every table beside the paper's. With
    --rows it is about attacks: pictures, tables and transfer matrices of stored comparisons.
    Example: elasticgnn report m.st edges.csv --features features.csv --labels labels.csv -o m.html
    """
    from elasticgnn.files import check_apart, check_folder, check_output, check_picture

    check_folder(output.parent)
    if output.parent.is_dir():
        check_output(output, inputs=(model, edges, features, labels, attack))
    if plot is not None:
        check_picture(plot, "plot")
        check_apart(output, plot, ("output", "plot"))
    if model is not None:
        check_options(context, STUDY_OPTIONS, "a page about studies")
        check_options(context, ROWS_OPTIONS, "a page about attacks")
    else:
        check_options(context, MODEL_OPTIONS, "a page about a model")
    if rows is not None:
        check_options(context, STUDY_OPTIONS, "a page about studies")
        write_about_rows(rows, output)
    elif model is not None:
        write_about_model(model, edges, features, labels, data_root, layout, output, plot)
    else:
        write_about_studies(results, study, attack, quick, output)
    size = output.stat().st_size
    text = json.dumps({"output": str(output), "bytes": size})
    say(text if as_json else f"wrote {output} ({size / 1e6:.1f} MB)")


def check_options(context: typer.Context, options: tuple[str, ...], kind: str) -> None:
    """Refuses options of another kind of page, which would be silently without effect."""
    for option in options:
        if is_given(context, option):
            raise ValueError(f"{flag(option)} must be given for {kind} only, got it for another")


def write_about_model(
    model: Path,
    edges: str | None,
    features: Path | None,
    labels: Path | None,
    data_root: Path | None,
    layout: TableLayout,
    output: Path,
    plot: Path | None,
) -> None:
    """The page of a model file on the nodes of a data set or of one's own files."""
    from elasticgnn.cli.task_files import read_for
    from elasticgnn.training import TrainedModel

    trained = TrainedModel.load(model)
    if trained.unit is not None and plot is not None:
        raise ValueError("--plot must be asked of a model of classes, got one of --target number")
    task = read_for(trained, edges, features, labels, data_root, layout)
    say_notes(trained.with_known_columns(task).notes)
    write_page_of(trained, task, output, plot)


def write_page_of(
    trained: TrainedModel, task: NodeTask, output: Path, plot: Path | None = None
) -> None:
    """The page of a trained model on `task`, and the picture of its worth if wanted."""
    from elasticgnn.report.model import find, find_numbers, save_worth, write_model_page

    if trained.unit is not None:
        write_model_page(find_numbers(trained, task), output)
        return
    findings = find(trained, task)
    write_model_page(findings, output)
    if plot is not None:
        save_worth(findings, plot)


def write_about_rows(folder: Path, output: Path) -> None:
    """The comparisons whose rows `robustness --rows` has stored."""
    from elasticgnn.robustness.page import write_page
    from elasticgnn.robustness.store import read_rows

    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise ValueError(f"rows must be a folder with rows of `robustness --rows`, got {folder}")
    write_page([(path.stem, list(read_rows(path))) for path in files], output)


def write_about_studies(
    results: Path, study: list[str] | None, attack: Path | None, quick: bool, output: Path
) -> None:
    """Every table beside the paper's, figures, training curves."""
    from elasticgnn.experiment import cut_down, load_spec, spec_names
    from elasticgnn.experiment.flips import FlipFile, attacked_study
    from elasticgnn.report import build_table, write_page

    if not results.is_dir():
        raise ValueError(f"results must be a folder of stored results, got {results}")
    specs = [load_spec(name) for name in study or reading_order(spec_names())]
    specs = [cut_down(spec) if quick else spec for spec in specs]
    if attack is not None:
        specs = [attacked_study(spec, FlipFile(attack)) for spec in specs]
    write_page([build_table(spec, results) for spec in specs], output)


def reading_order(names: tuple[str, ...]) -> list[str]:
    """Tables before figures."""
    return sorted(names, key=lambda name: (not name.startswith("table"), name))
