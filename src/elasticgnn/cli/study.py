"""`elasticgnn study`: run the paper's tables and figures, and look at the results."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elasticgnn.cli.say import say, say_exactly
from elasticgnn.cli.study_choice import (
    FOLDER,
    AsJson,
    Attack,
    Datasets,
    Epochs,
    Hidden,
    Models,
    Name,
    Quick,
    Results,
    Runs,
    Search,
    Seed,
    chosen_study,
)
from elasticgnn.cli.study_output import claims, export, plot, publish

if TYPE_CHECKING:
    from elasticgnn.experiment import StudySpec


def register(app: typer.Typer) -> None:
    """Adds `elasticgnn study ...` to the tool."""
    study = typer.Typer(help="The paper's tables and figures.", no_args_is_help=True)
    for command in (list_studies, run, status, table, plot, export, claims, publish):
        name = "list" if command is list_studies else command.__name__
        study.command(name)(command)
    app.add_typer(study, name="study")


def list_studies(as_json: AsJson = False) -> None:
    """The studies that come with the package, by name and title.

    Example: elasticgnn study list
    """
    from elasticgnn.experiment import load_spec, spec_names

    titles = {name: load_spec(name).title for name in spec_names()}
    if as_json:
        say(json.dumps(titles))
        return
    for name, title in titles.items():
        say(f"{name:10s} {title}")


def run(
    name: Name,
    dataset: Datasets = None,
    model: Models = None,
    jobs: Annotated[int, typer.Option(help="processes on this machine")] = 1,
    search: Search = None,
    found: Annotated[
        Path | None,
        typer.Option(help="folder of the earlier results for --search fixed, if not --results"),
    ] = None,
    storage: Annotated[str | None, typer.Option(help="file, or postgresql://...")] = None,
    results: Results = FOLDER,
    data_root: Annotated[Path | None, typer.Option(help="folder of the data sets")] = None,
    runs: Runs = None,
    epochs: Epochs = None,
    seed: Seed = None,
    hidden: Hidden = None,
    width: Annotated[int, typer.Option(help="runs trained side by side")] = 40,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Train what the study still needs; stop it at any moment and start it again.

    Start the same command on several machines with one --storage postgresql://... to share it.
    Example: elasticgnn study run table2 --dataset cora --jobs 2
    """
    from elasticgnn.experiment import WorkPlan, storage_url
    from elasticgnn.experiment.flips import FlipFile, check_flips
    from elasticgnn.experiment.found import with_found
    from elasticgnn.experiment.jobs import run_jobs
    from elasticgnn.files import check_folder

    check_folder(results, "results")
    spec = chosen_study(
        name,
        dataset,
        model,
        quick=quick,
        search=search,
        runs=runs,
        epochs=epochs,
        seed=seed,
        hidden=hidden,
        attack=attack,
    )
    spec = with_found(spec, results if found is None else found)
    if attack is not None:
        check_flips(spec, FlipFile(attack), data_root)
    url = storage_url(storage or str(results / "trials.db"))
    plan = WorkPlan(url, results, data_root, width=width, attack=attack)
    run_jobs(spec, plan, jobs, show_progress)
    if sys.stderr.isatty():
        say(file=sys.stderr)
    show_table(spec, results, "json" if as_json else "terminal")


def show_progress(line: str) -> None:
    """One line that overwrites itself on a terminal, one line each in a log."""
    from elasticgnn.files import one_line

    line = one_line(line)
    end = "\r" if sys.stderr.isatty() else "\n"
    say(f"{line[:118]:118s}" if end == "\r" else line, end=end, file=sys.stderr)


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
        say(json.dumps({"study": spec.name, "agreement": built.agreement(), "cells": cells}))
    elif form in texts:
        text = texts[form](built)
        say_exactly(text)
    else:
        raise ValueError(f"format must be one of {['terminal', *texts, 'json']}, got {form!r}")


def status(
    name: Annotated[str | None, typer.Argument(help="a study; none means all")] = None,
    dataset: Datasets = None,
    model: Models = None,
    search: Search = None,
    storage: Annotated[str | None, typer.Option(help="file, or postgresql://...")] = None,
    results: Results = FOLDER,
    runs: Runs = None,
    epochs: Epochs = None,
    seed: Seed = None,
    hidden: Hidden = None,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """How many cells are complete, and what the storage holds of the others.

    The options of a `study run` that is under way say what is left of it.
    Example: elasticgnn study status table2
    """
    from elasticgnn.experiment import spec_names, storage_url
    from elasticgnn.experiment.status import study_status

    url = storage_url(storage or str(results / "trials.db"))
    names = [name] if name else list(spec_names())
    protocol = {"runs": runs, "epochs": epochs, "seed": seed, "hidden": hidden}
    given: dict[str, Any] = {**protocol, "quick": quick, "search": search, "attack": attack}
    specs = [chosen_study(each, dataset, model, **given) for each in names]
    found = [study_status(spec, url, results) for spec in specs]
    if as_json:
        say(json.dumps({"studies": found}))
        return
    for row in found:
        say(
            f"{row['study']:10s} {row['cells_complete']}/{row['cells']} cells complete, "
            f"{row['cells_searched']} of them searched{by_search(row)}, "
            f"trials: {row['complete']} complete, {row['running']} running, "
            f"{row['waiting']} waiting, {row['runs']} trainings{time_taken(row)}"
            f"{time_left(row)}"
        )
        for rule, datasets in row["rules"].items():
            say(f"           search on {', '.join(datasets)}: {rule}")


def by_search(row: dict[str, Any]) -> str:
    """ ", 3 by this search or a greater one" where there are results of lesser ones."""
    if row["cells_by_search"] == row["cells_complete"]:
        return ""
    return f", {row['cells_by_search']} by this search or a greater one"


def time_taken(row: dict[str, Any]) -> str:
    """ " in 12 minutes (200 epochs each, 5.1 ms per epoch)", nothing where nothing was trained."""
    if not row["runs"]:
        return ""
    each, single = row["epochs_per_run"], 1000 * row["seconds_per_epoch"]
    return (
        f" in {row['seconds'] / 60:.0f} minutes ({each:.0f} epochs each, {single:.1f} ms per epoch)"
    )


def time_left(row: dict[str, Any]) -> str:
    """ "; 252 trainings left: 0.4 processor hours for 200 of them, 52 not measured yet".

    Where every cell is complete, the storage of before is not at hand: nothing is left to do.
    """
    if not row["left"]:
        return ""
    if row["cells_by_search"] == row["cells"]:
        return f"; {row['left']} trainings are not in this storage, and would be made again"
    known = row["left"] - row["unmeasured"]
    parts = [f"{row['hours_left']:.1f} processor hours for {known} of them"] if known else []
    parts += [f"{row['unmeasured']} not measured yet"] if row["unmeasured"] else []
    return f"; {row['left']} trainings left: {', '.join(parts)}"


def table(
    name: Name,
    form: Annotated[str, typer.Option("--format", help="terminal, markdown, latex, csv")] = (
        "terminal"
    ),
    details: Annotated[bool, typer.Option(help="every cell with interval and setting")] = False,
    dataset: Datasets = None,
    model: Models = None,
    results: Results = FOLDER,
    epochs: Epochs = None,
    seed: Seed = None,
    hidden: Hidden = None,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Ours beside the paper's: mean ± deviation, 95 % interval, verdict, paired difference.

    Example: elasticgnn study table table2 --dataset cora --details
    """
    spec = chosen_study(
        name, dataset, model, quick=quick, epochs=epochs, seed=seed, hidden=hidden, attack=attack
    )
    show_table(spec, results, "json" if as_json else form, details=details)
