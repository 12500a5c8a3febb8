"""Which options a person wrote, whatever their values."""

from __future__ import annotations

import typer


def is_given(context: typer.Context, option: str) -> bool:
    """Whether the option stands on the command line (or in the environment)."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def flag(option: str) -> str:
    """The option as it is written: --data-root for data_root."""
    return f"--{option.replace('_', '-')}"
