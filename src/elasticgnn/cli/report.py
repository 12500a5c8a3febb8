"""`elasticgnn report`: all stored results as one page that needs no network."""

import json
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Adds `elasticgnn report` to the tool."""
    app.command()(report)


def report(
    results: Annotated[Path, typer.Option(help="folder of the results")] = Path("results"),
    output: Annotated[Path, typer.Option(help="the page")] = Path("report.html"),
    study: Annotated[list[str] | None, typer.Option(help="only this study")] = None,
    attack: Annotated[Path | None, typer.Option(help="results of `study run --attack`")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="results of --quick runs")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """Every table beside the paper's, figures, training curves: one HTML file."""
    from elasticgnn.experiment import cut_down, load_spec, spec_names
    from elasticgnn.experiment.flips import FlipFile, attacked_study
    from elasticgnn.report import build_table, write_page

    specs = [load_spec(name) for name in study or reading_order(spec_names())]
    specs = [cut_down(spec) if quick else spec for spec in specs]
    if attack is not None:
        specs = [attacked_study(spec, FlipFile(attack)) for spec in specs]
    tables = [build_table(spec, results) for spec in specs]
    write_page(tables, output)
    size = output.stat().st_size
    text = json.dumps({"output": str(output), "bytes": size})
    print(text if as_json else f"wrote {output} ({size / 1e6:.1f} MB)")


def reading_order(names: tuple[str, ...]) -> list[str]:
    """Tables before figures."""
    return sorted(names, key=lambda name: (not name.startswith("table"), name))
