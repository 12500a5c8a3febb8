"""Every command of the tool by its whole name."""

import typer

from elasticgnn.cli.__main__ import build_app


def leaves(command, name=""):
    """Every command without subcommands, by its whole name."""
    below = getattr(command, "commands", None)
    if not below:
        return {name: command}
    found = {}
    for word, each in below.items():
        found |= leaves(each, f"{name} {word}".strip())
    return found


COMMANDS = leaves(typer.main.get_command(build_app()))
