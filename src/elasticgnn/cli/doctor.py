"""`elasticgnn doctor`: is everything in place, and is it the fast path?"""

from __future__ import annotations

import json
import os
import platform
from typing import Annotated, Any

import typer

from elasticgnn.cli.say import say

PACKAGES = ("elasticgnn", "torch", "torch_geometric", "numpy", "scipy", "optuna", "matplotlib")
OPTIONAL = ("pandas", "pyarrow", "networkx", "scikit-learn", "psycopg")


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("doctor")(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Says which versions, threads, instruction set and kernels are in use; 1 if slow or wrong.

    Exit code 0: the compiled loops are there and agree with the plain version.
    Example: elasticgnn doctor --json
    """
    facts = examine()
    if as_json:
        say(json.dumps(facts))
    else:
        width = max(map(len, facts))
        for name, value in facts.items():
            say(f"{name:<{width}} {value if not isinstance(value, dict) else spread(value)}")
        say("all is well" if facts["healthy"] else "the plain torch path is in use: slower")
    raise typer.Exit(0 if facts["healthy"] else 1)


def examine() -> dict[str, Any]:
    """The facts, the last of which is whether the fused kernels work and agree."""
    import torch

    from elasticgnn.data.files import data_folder
    from elasticgnn.graph import Graph
    from elasticgnn.kernels import native
    from elasticgnn.operator import explain_route, fused
    from elasticgnn.operator.self_check import ROUNDING, largest_difference
    from elasticgnn.problem import ElasticPenalty
    from elasticgnn.versions import package_version

    error = largest_difference() if fused.is_available() else None
    route = explain_route(torch.zeros(2, 5), Graph.from_edges([(0, 1)]), ElasticPenalty())
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "packages": {name: package_version(name, "missing") for name in PACKAGES},
        "optional": {name: package_version(name, "missing") for name in OPTIONAL},
        "threads": torch.get_num_threads(),
        "simd": "none" if native is None else str(native.simd),
        "fused kernels": fused.is_available(),
        "fused - plain": error,
        "route of short rows": route.taken,
        "data folder": str(data_folder()),
        "healthy": error is not None and error < ROUNDING,
    }


def spread(value: dict[str, Any]) -> str:
    """One line of "name value" pairs."""
    return ", ".join(f"{name} {number}" for name, number in value.items())
