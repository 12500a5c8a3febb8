"""`elasticgnn export`: a trained model as a folder that others can load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from elasticgnn.cli.say import say


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("export")(export)


def export(
    model: Annotated[Path, typer.Argument(help="file written by `train -o`")],
    output: Annotated[Path, typer.Option("-o", "--output", help="a new or empty folder")],
    licence: Annotated[str, typer.Option(help="what others may do with it: mit, cc-by-4.0 …")],
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Writes a folder with the model and a card (data, metrics, how to load it); sends nothing.

    Example: elasticgnn export model.safetensors -o my-model/ --licence mit
    """
    from elasticgnn.files import check_folder
    from elasticgnn.training import TrainedModel
    from elasticgnn.training.model.card import export_folder

    check_folder(output)
    export_folder(TrainedModel.load(model), output, licence=licence)
    if as_json:
        say(json.dumps({"folder": str(output), "licence": licence}))
        return
    say(f"wrote {output}: the model and README.md, its card")
