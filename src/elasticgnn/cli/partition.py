"""`elasticgnn partition`: a graph as a folder of parts, for training on several processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticgnn.cli.say import say

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.distributed.manifest import Manifest


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("partition")(partition)


def partition(
    edges: Annotated[
        str, typer.Argument(help="edge file, the name of a data set, or `verify` and a folder")
    ],
    folder: Annotated[Path | None, typer.Argument(help="with verify: the folder to check")] = None,
    features: Annotated[Path | None, typer.Option(help="features of the nodes")] = None,
    labels: Annotated[Path | None, typer.Option(help="known classes; may be partial")] = None,
    parts: Annotated[int, typer.Option(help="number of parts; processes take several each")] = 64,
    method: Annotated[str, typer.Option(help="metis, clusters or blocks")] = "metis",
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="folder to write")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Writes a graph as parts of equal work, or verifies such a folder; resumes after a kill.

    Edges are a table source,target[,weight] or an NPY array (m, 2); features and labels have one
    row for each node. As .npy they need not fit the memory. `torchrun ... -m elasticgnn train
    parts/` trains on the folder with any number of processes.
    Example: elasticgnn partition edges.npy --features x.npy --labels y.npy --parts 16 -o parts/
    """
    from elasticgnn.distributed.manifest import verify_partition

    if edges == "verify":
        if folder is None:
            raise ValueError("folder must be given: elasticgnn partition verify FOLDER")
        return report(verify_partition(folder), folder, "verified", as_json)
    if output is None or folder is not None:
        raise ValueError(f"output must be given as -o FOLDER, got {folder}")
    from elasticgnn.distributed.assignment import METHODS
    from elasticgnn.distributed.file_source import partition_files
    from elasticgnn.distributed.writer import write_partition
    from elasticgnn.files import check_folder

    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    check_folder(output)
    source = Path(edges)
    if source.exists() and are_arrays(source, features, labels):
        manifest = partition_files(source, features, labels, output, parts=parts, method=method)
    else:
        task, own_files = read(source, features, labels, data_root)
        manifest = write_partition(task, output, parts=parts, method=method, own_files=own_files)
    report(manifest, output, "written", as_json)


def are_arrays(edges: Path, features: Path | None, labels: Path | None) -> bool:
    """Whether the files hold plain numbers, which need not fit the memory."""
    arrays = all(file is None or file.suffix == ".npy" for file in (features, labels))
    return edges.suffix == ".npy" or (
        edges.suffix == ".parquet" and features is not None and arrays
    )


def read(
    edges: Path, features: Path | None, labels: Path | None, data_root: Path | None
) -> tuple[NodeTask, bool]:
    """The task, and whether it comes from own files."""
    from elasticgnn.data import catalogue, load, read_task

    if not edges.exists() and str(edges) in catalogue():
        return load(str(edges), root=data_root), False
    return read_task(edges, features, labels), True


def report(manifest: Manifest, folder: Path, what: str, as_json: bool) -> None:
    """Prints the sizes of the parts, as text or as one JSON object."""
    facts = {
        "folder": str(folder),
        "state": what,
        "nodes": manifest.num_nodes,
        "edges": manifest.num_edges,
        "parts": len(manifest.parts),
        "method": manifest.method,
        "heaviest": manifest.imbalance,
    }
    if as_json:
        say(json.dumps(facts))
        return
    say(
        f"{folder} {what}: {facts['nodes']} nodes and {facts['edges']} edges in {facts['parts']} "
        f"parts ({manifest.method}), the heaviest with {facts['heaviest']:.2f} of the mean work"
    )
