"""`elasticgnn study plot`, `export`, `claims`, `publish`: what is made of stored results."""

import json
from pathlib import Path
from typing import Annotated

import typer

from elasticgnn.cli.say import say
from elasticgnn.cli.study_choice import (
    FOLDER,
    AsJson,
    Attack,
    Datasets,
    Epochs,
    Hidden,
    Name,
    Quick,
    Results,
    Seed,
    chosen_study,
)


def plot(
    name: Name,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="file ending in .svg, .png or .pdf")
    ],
    dataset: Datasets = None,
    results: Results = FOLDER,
    epochs: Epochs = None,
    seed: Seed = None,
    hidden: Hidden = None,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Draw the study: lines along the attack rate or the steps, else means per model.

    Example: elasticgnn study plot table2 -o table2.svg
    """
    from elasticgnn.files import check_picture
    from elasticgnn.report import build_table
    from elasticgnn.report.plot import save_plot

    check_picture(output)
    spec = chosen_study(
        name, dataset, quick=quick, epochs=epochs, seed=seed, hidden=hidden, attack=attack
    )
    save_plot(build_table(spec, results), output)
    say(json.dumps({"output": str(output)}) if as_json else f"wrote {output}")


def export(
    name: Name,
    output: Annotated[Path, typer.Option("-o", "--output", help="folder to be made")],
    results: Results = FOLDER,
    epochs: Epochs = None,
    seed: Seed = None,
    hidden: Hidden = None,
    attack: Attack = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """One self-contained folder: results, splits, seeds, environment, tables, figure.

    Example: elasticgnn study export table2 -o table2/
    """
    from elasticgnn.files import check_folder
    from elasticgnn.report import build_table
    from elasticgnn.report.export import export_study

    check_folder(output)
    spec = chosen_study(name, quick=quick, epochs=epochs, seed=seed, hidden=hidden, attack=attack)
    files = export_study(build_table(spec, results), results, output, attack)
    names = [str(path.relative_to(output)) for path in files]
    say(json.dumps({"output": str(output), "files": names}) if as_json else "\n".join(names))


def claims(
    details: Annotated[bool, typer.Option(help="every single comparison")] = False,
    results: Results = FOLDER,
    as_json: AsJson = False,
) -> None:
    """What the paper's sentences say and what the records say: confirmed, partly, not, open.

    Example: elasticgnn study claims --details
    """
    from elasticgnn.experiment import load_spec, spec_names
    from elasticgnn.report import build_table
    from elasticgnn.report.claims import claim_rows, claim_text, judge_all

    judged = judge_all([build_table(load_spec(name), results) for name in spec_names()])
    rows = json.dumps({"claims": claim_rows(judged)})
    say(rows if as_json else claim_text(judged, show_cases=details))


def publish(
    results: Results = FOLDER,
    document: Annotated[
        list[Path] | None, typer.Option(help="Markdown page with blocks to be made anew")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write every study's tables and figure beside its results, and the verdicts of all cells.

    Example: elasticgnn study publish --results results
    """
    from elasticgnn.experiment import load_spec, spec_names
    from elasticgnn.report import build_table
    from elasticgnn.report.publish import publish as write_all

    tables = [build_table(load_spec(name), results) for name in spec_names()]
    written = [str(path) for path in write_all(tables, results, document or [])]
    say(json.dumps({"files": written}) if as_json else "\n".join(written))
