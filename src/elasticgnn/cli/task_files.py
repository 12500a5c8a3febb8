"""The task a command works on: a data set by name, or one's own files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elasticgnn.attack import Perturbation
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.data.own.targets import Target
    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainedModel


PAPER_STRENGTH, OWN_STRENGTH = 3.0, 1.0  # both lambdas; unknown graphs are trusted less


def usual_settings(
    model: str, edges: Path | None, lambda1: float | None = None, lambda2: float | None = None
) -> ModelSettings:
    """The model with the strengths given, or those for a data set or for one's own edges."""
    from elasticgnn.nn import ModelSettings

    usual = PAPER_STRENGTH if edges is None else OWN_STRENGTH
    lambda1, lambda2 = (usual if given is None else given for given in (lambda1, lambda2))
    return ModelSettings(model, lambda1=lambda1, lambda2=lambda2)


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
        if Path(data).suffix or Path(data).is_file():  # `predict` takes edges so, `train` does not
            raise ValueError(f"data must be the name of a data set, got a file: use --edges {data}")
        if features is not None or labels is not None:
            raise ValueError("--edges must be given with --features or --labels, got none")
        refuse_layout(layout, data)
        if Path(data).exists():
            raise ValueError(f"data must be the name of a data set, got a file: use --edges {data}")
        return load(data, root=data_root)
    task = read_task(edges, features, labels, target=target, layout=layout or USUAL)
    if len(task.labelled) == 0:
        raise ValueError(
            "labels must name the class of some nodes, got none (use --labels, or "
            "--label-column of a graph file)"
        )
    return task


def read_for(
    trained: TrainedModel,
    edges: str | None,
    features: Path | None,
    labels: Path | None,
    data_root: Path | None,
    layout: TableLayout,
) -> NodeTask:
    """The nodes that a model is asked about: a partition folder, a data set by name, or own files.

    Of own tables only the columns that the model knows are read as features.
    """
    from dataclasses import replace

    from elasticgnn.data import catalogue, load, read_task

    name = edges or data_of(trained)
    looks_like_file = bool(Path(name).suffix) and name not in catalogue()
    if Path(name).is_file() or (looks_like_file and not Path(name).is_dir()):
        if data_root is not None:
            raise ValueError(f"--data-root must go with the name of a data set, got {name!r}")
        target: Target = "class" if trained.unit is None else "number"
        layout = replace(layout, features=trained.feature_columns)
        return read_task(Path(name), features, labels, target=target, layout=layout, to_learn=False)
    if features is not None or labels is not None:
        raise ValueError(f"--features and --labels must come with a file of edges, got {name!r}")
    refuse_layout(layout, name)
    if Path(name).is_dir():
        from elasticgnn.distributed import PartitionFolder

        return PartitionFolder(name).task()
    return load(name, root=data_root)


def data_of(trained: TrainedModel) -> str:
    """The name of the data set that the model was trained on."""
    from elasticgnn.data import catalogue

    name = trained.data.get("name", "")
    if name not in catalogue():
        raise ValueError("edges must be given for a model that was trained on own files, got none")
    return name


def refuse_layout(layout: TableLayout | None, data: str) -> None:
    """Refuses names of columns where nothing is read from tables."""
    from elasticgnn.data.own.layout import USUAL

    if layout is not None and layout != USUAL:
        raise ValueError(f"names of columns and an encoding must go with own files, got {data!r}")


def attacked(task: NodeTask, flips: Path | None) -> NodeTask:
    """The task with the edge flips of an attack file applied."""
    if flips is None:
        return task
    from dataclasses import replace

    from elasticgnn.attack.perturbation import load_perturbation

    found = load_perturbation(flips)
    changed = found.apply_to(as_attacked(task, found))
    note = f"attacked by {flips.name}: {len(found)} edges flipped by {found.method}"
    return replace(changed, notes=(*changed.notes, note))


def as_attacked(task: NodeTask, flips: Perturbation | None) -> NodeTask:
    """The task without weights where the flips were found without them."""
    from elasticgnn.attack.perturbation import component_task
    from elasticgnn.data.unweighted import without_weights

    if flips is None or task.graph.is_unweighted:
        return task
    plain = without_weights(task)
    graphs = (plain.graph, component_task(plain).graph)
    is_plain = flips.fingerprint in [graph.fingerprint for graph in graphs]
    return plain if is_plain else task


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
