"""`elasticgnn doctor`: is everything in place, and is it the fast path?"""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer

PACKAGES = ("elasticgnn", "torch", "torch_geometric", "numpy", "scipy", "optuna", "matplotlib")
OPTIONAL = ("pandas", "pyarrow", "networkx", "scikit-learn", "psycopg")


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Says which versions, threads, instruction set and kernels are in use; 1 if slow or wrong."""
    facts = examine()
    if as_json:
        print(json.dumps(facts))
    else:
        for name, value in facts.items():
            print(f"{name:<16} {value if not isinstance(value, dict) else spread(value)}")
        print("all is well" if facts["healthy"] else "the plain torch path is in use: slower")
    raise typer.Exit(0 if facts["healthy"] else 1)


def examine() -> dict[str, Any]:
    """The facts, the last of which is whether the fused kernels work and agree."""
    import torch

    from elasticgnn.data.files import data_folder
    from elasticgnn.kernels import native
    from elasticgnn.operator import fused

    error = largest_difference() if fused.is_available() else None
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "packages": {name: found(name) for name in PACKAGES},
        "optional": {name: found(name) for name in OPTIONAL},
        "threads": torch.get_num_threads(),
        "simd": "none" if native is None else str(native.simd),
        "fused kernels": fused.is_available(),
        "fused - plain": error,
        "data folder": str(data_folder()),
        "healthy": error is not None and error < 1e-4,
    }


def largest_difference() -> float:
    """Largest difference between fused and plain steps on a ring of 50 nodes."""
    import torch

    from elasticgnn import ElasticPenalty, Graph, elastic_message_passing

    ends = torch.arange(50)
    ring = Graph.from_edge_index(torch.stack([ends, (ends + 1) % 50]), 50, undirected=True)
    x = torch.randn(50, 5, generator=torch.Generator().manual_seed(0))
    fused, plain = (
        elastic_message_passing(x, ring, ElasticPenalty(), 10, implementation=way)
        for way in ("auto", "reference")
    )
    return float((fused - plain).abs().max())


def found(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def spread(value: dict[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in value.items())
