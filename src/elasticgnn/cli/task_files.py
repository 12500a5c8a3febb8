"""The task a command works on: a data set by name, or one's own files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.data.own.targets import Target


PAPER_STRENGTH, OWN_STRENGTH = 3.0, 1.0  # both lambdas; unknown graphs are trusted less


def read(
    data: str,
    edges: Path | None,
    features: Path | None,
    labels: Path | None,
    data_root: Path | None,
    *,
    target: Target = "class",
    layout: TableLayout | None = None,
) -> NodeTask:
    """The named data set, or the task of one's own files."""
    from elasticgnn.data import load, read_task
    from elasticgnn.data.own.layout import USUAL

    if edges is None:
        if features is not None or labels is not None:
            raise ValueError("--edges must be given with --features or --labels, got none")
        if Path(data).suffix or Path(data).exists():
            raise ValueError(f"data must be the name of a data set, got a file: use --edges {data}")
        return load(data, root=data_root)
    task = read_task(edges, features, labels, target=target, layout=layout or USUAL)
    if len(task.labelled) == 0:
        raise ValueError("labels must name the class of some nodes, got none (use --labels)")
    return task


def attacked(task: NodeTask, flips: Path | None) -> NodeTask:
    """The task with the edge flips of an attack file applied."""
    if flips is None:
        return task
    from dataclasses import replace

    from elasticgnn.attack.perturbation import load_perturbation

    found = load_perturbation(flips)
    changed = found.apply_to(task)
    note = f"attacked by {flips.name}: {len(found)} edges flipped by {found.method}"
    return replace(changed, notes=(*changed.notes, note))


def check_target(target: str, edges: Path | None) -> Target:
    """The kind of target; numbers are predicted on own files only."""
    from elasticgnn.data.own.targets import TARGETS

    for kind in TARGETS:
        if kind == target:
            if kind == "number" and edges is None:
                raise ValueError("--edges must be given with --target number, got none")
            return kind
    raise ValueError(
        f"target must be class or number, got {target!r} (--target-column names an edge's end)"
    )
