"""`elasticgnn study`: run the paper's tables and figures, and look at the results."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from elasticgnn.experiment import StudySpec

Name = Annotated[str, typer.Argument(help="table1 ... table4, figure2, figure3, or a .toml file")]
Datasets = Annotated[list[str] | None, typer.Option("--dataset", help="only this data set")]
Models = Annotated[list[str] | None, typer.Option("--model", help="only this model")]
Results = Annotated[Path, typer.Option(help="folder of the results")]
Quick = Annotated[bool, typer.Option("--quick", help="a toy graph and a few epochs: seconds")]
Attack = Annotated[
    Path | None, typer.Option(help="flipped edges from `elasticgnn attack`; results of their own")
]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on standard output")]

FOLDER = Path("results")


def register(app: typer.Typer) -> None:
    """Adds `elasticgnn study ...` to the tool."""
    study = typer.Typer(help="The paper's tables and figures.", no_args_is_help=True)
    for command in (list_studies, run, status, table, plot, export, publish):
        name = "list" if command is list_studies else command.__name__
        study.command(name)(command)
    app.add_typer(study, name="study")


def list_studies(as_json: AsJson = False) -> None:
    """The studies that come with the package."""
    from elasticgnn.experiment import load_spec, spec_names

    titles = {name: load_spec(name).title for name in spec_names()}
    if as_json:
        print(json.dumps(titles))
        return
    for name, title in titles.items():
        print(f"{name:10s} {title}")


def run(
    name: Name,
    dataset: Datasets = None,
    model: Models = None,
    jobs: Annotated[int, typer.Option(help="processes on this machine")] = 1,
    search: Annotated[
        str | None, typer.Option(help="grid, halving, or fixed: what an earlier search found")
    ] = None,
    storage: Annotated[str | None, typer.Option(help="file, or postgresql://...")] = None,
    results: Results = FOLDER,
    data_root: Annotated[Path | None, typer.Option(help="folder of the data sets")] = None,
    runs: Annotated[int | None, typer.Option(help="runs per setting, if not the study's")] = None,
    epochs: Annotated[int | None, typer.Option(help="epochs, if not the study's")] = None,
    width: Annotated[int, typer.Option(help="runs trained side by side")] = 40,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Train what the study still needs; stop it at any moment and start it again.

    Start the same command on several machines with one --storage postgresql://... to share it.
    """
    from elasticgnn.experiment import WorkPlan, storage_url
    from elasticgnn.experiment.flips import FlipFile, check_flips
    from elasticgnn.experiment.found import with_found
    from elasticgnn.experiment.jobs import run_jobs

    spec = chosen_study(name, dataset, model, quick=quick, search=search, runs=runs, epochs=epochs)
    spec = with_found(with_attack(spec, attack), results)
    if attack is not None:
        check_flips(spec, FlipFile(attack), data_root)
    url = storage_url(storage or str(results / "trials.db"))
    plan = WorkPlan(url, results, data_root, width=width, attack=attack)
    run_jobs(spec, plan, jobs, show_progress)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    show_table(spec, results, "json" if as_json else "terminal")


def show_progress(line: str) -> None:
    """One line that overwrites itself on a terminal, one line each in a log."""
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"{line[:118]:118s}" if end == "\r" else line, end=end, file=sys.stderr, flush=True)


def chosen_study(
    name: str,
    dataset: list[str] | None = None,
    model: list[str] | None = None,
    *,
    quick: bool = False,
    search: str | None = None,
    runs: int | None = None,
    epochs: int | None = None,
) -> "StudySpec":
    """The study `name` as the options restrict it."""
    from dataclasses import replace

    from elasticgnn.experiment import cut_down, load_spec

    spec = load_spec(name)
    if search is not None:
        spec = replace(spec, search=replace(spec.search, method=search))
    shared = spec.protocol
    shared = replace(shared, runs=runs or shared.runs, epochs=epochs or shared.epochs)
    spec = replace(spec, protocol=shared)
    spec = spec.restricted(tuple(dataset or ()), tuple(model or ()))
    return cut_down(spec) if quick else spec


def with_attack(spec: "StudySpec", attack: Path | None) -> "StudySpec":
    """The study, or the same on graphs that the flips of a file have changed."""
    from elasticgnn.experiment.flips import FlipFile, attacked_study

    return spec if attack is None else attacked_study(spec, FlipFile(attack))


def show_table(spec: "StudySpec", results: Path, form: str, *, details: bool = False) -> None:
    """The study's table on standard output."""
    from elasticgnn.report import build_table
    from elasticgnn.report.render import print_table, to_csv, to_latex, to_markdown, to_rows

    built = build_table(spec, results)
    texts = {"markdown": to_markdown, "latex": to_latex, "csv": to_csv}
    if form == "terminal":
        print_table(built, show_details=details)
    elif form == "json":
        cells = to_rows(built)
        print(json.dumps({"study": spec.name, "agreement": built.agreement(), "cells": cells}))
    elif form in texts:
        print(texts[form](built), end="")
    else:
        raise ValueError(f"format must be one of {['terminal', *texts, 'json']}, got {form!r}")


def status(
    name: Annotated[str | None, typer.Argument(help="a study; none means all")] = None,
    storage: Annotated[str | None, typer.Option(help="file, or postgresql://...")] = None,
    results: Results = FOLDER,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """How many cells are complete, and what the storage holds of the others."""
    from elasticgnn.experiment import spec_names, storage_url
    from elasticgnn.experiment.status import study_status

    url = storage_url(storage or str(results / "trials.db"))
    names = [name] if name else list(spec_names())
    specs = [with_attack(chosen_study(each, quick=quick), attack) for each in names]
    found = [study_status(spec, url, results) for spec in specs]
    if as_json:
        print(json.dumps({"studies": found}))
        return
    for row in found:
        print(
            f"{row['study']:10s} {row['cells_complete']}/{row['cells']} cells complete, "
            f"trials: {row['complete']} complete, {row['running']} running, "
            f"{row['waiting']} waiting, {row['runs']} trainings{time_taken(row)}"
        )


def time_taken(row: dict[str, Any]) -> str:
    """ " in 12 minutes (200 epochs each, 5.1 ms per epoch)", nothing where nothing was trained."""
    if not row["runs"]:
        return ""
    each, single = row["epochs"] / row["runs"], 1000 * row["seconds"] / row["epochs"]
    return (
        f" in {row['seconds'] / 60:.0f} minutes ({each:.0f} epochs each, {single:.1f} ms per epoch)"
    )


def table(
    name: Name,
    form: Annotated[str, typer.Option("--format", help="terminal, markdown, latex, csv")] = (
        "terminal"
    ),
    details: Annotated[bool, typer.Option(help="every cell with interval and setting")] = False,
    dataset: Datasets = None,
    model: Models = None,
    results: Results = FOLDER,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Ours beside the paper's: mean ± deviation, 95 % interval, verdict, paired difference."""
    spec = with_attack(chosen_study(name, dataset, model, quick=quick), attack)
    show_table(spec, results, "json" if as_json else form, details=details)


def plot(
    name: Name,
    output: Annotated[Path, typer.Option(help="file ending in .svg, .png or .pdf")],
    dataset: Datasets = None,
    results: Results = FOLDER,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Draw the study: lines along the attack rate or the steps, else means per model."""
    from elasticgnn.report import build_table
    from elasticgnn.report.plot import save_plot

    spec = with_attack(chosen_study(name, dataset, quick=quick), attack)
    save_plot(build_table(spec, results), output)
    print(json.dumps({"output": str(output)}) if as_json else f"wrote {output}")


def export(
    name: Name,
    output: Annotated[Path, typer.Option(help="folder to be made")],
    results: Results = FOLDER,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """One self-contained folder: results, splits, seeds, environment, tables, figure."""
    from elasticgnn.report import build_table
    from elasticgnn.report.export import export_study

    spec = with_attack(chosen_study(name, quick=quick), attack)
    files = export_study(build_table(spec, results), results, output, attack)
    names = [str(path.relative_to(output)) for path in files]
    print(json.dumps({"output": str(output), "files": names}) if as_json else "\n".join(names))


def publish(
    results: Results = FOLDER,
    document: Annotated[Path | None, typer.Option(help="Markdown with the two markers")] = None,
    as_json: AsJson = False,
) -> None:
    """Write every study's tables and figure beside its results, and the verdicts of all cells."""
    from elasticgnn.experiment import load_spec, spec_names
    from elasticgnn.report import build_table
    from elasticgnn.report.publish import publish as write_all

    tables = [build_table(load_spec(name), results) for name in spec_names()]
    written = [str(path) for path in write_all(tables, results, document)]
    print(json.dumps({"files": written}) if as_json else "\n".join(written))
