"""Which options a person wrote, whatever their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pathlib import Path


def is_given(context: typer.Context, option: str) -> bool:
    """Whether the option stands on the command line (or in the environment)."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def flag(option: str) -> str:
    """The option as it is written: --data-root for data_root."""
    return f"--{option.replace('_', '-')}"


def check_one_graph(context: typer.Context, edges: Path | None) -> None:
    """Refuses the name or the folder of a data set beside own edges, which would be read alone."""
    for option, name in (("data", "a data set"), ("data_root", "--data-root")):
        if edges is not None and is_given(context, option):
            got = context.params[option]
            raise ValueError(f"{name} must not be given with --edges, got {got} and {edges}")
