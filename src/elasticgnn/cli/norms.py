"""The option --norm: names of penalties, and `--norm list`, which explains them."""

from typing import Annotated

import typer

from elasticgnn.cli.say import say


def explain_if_asked(value: str) -> str:
    """The value; for "list" every penalty is explained and the command ends."""
    if value != "list":
        return value
    from elasticgnn.problem import PENALTIES

    for name, penalty in PENALTIES.items():
        default = penalty.default_concavity
        note = "" if default is None else f" [concavity {default:g}]"
        say(f"{name:5} {penalty.words}{note}")
    raise typer.Exit


NormOption = Annotated[
    str,
    typer.Option(
        callback=explain_if_asked, help="penalty of a difference along an edge; list: explains them"
    ),
]
