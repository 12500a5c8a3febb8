"""Feature columns of another task in the order of a model's."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.data.own.stand_ins import structural_features
from elasticgnn.features import SparseFeatures


def columns_by_id(task: NodeTask, nodes: tuple[str, ...]) -> NodeTask:
    """The task with stand-in features whose column k belongs to nodes[k]."""
    names = node_names(task)
    unknown, missing = sorted(set(names) - set(nodes)), sorted(set(nodes) - set(names))
    if unknown or missing:
        found = repr(unknown[0]) if unknown else f"none called {missing[0]!r}"
        raise ValueError(
            "edges must name the nodes the model was trained on "
            f"(it knows no features, only these nodes), got {found}"
        )
    place = {name: number for number, name in enumerate(names)}
    order = torch.tensor([*(place[name] for name in nodes), len(nodes)])
    features = pick_columns(structural_features(task.graph), order)
    return replace(task, features=features, feature_names=None, made_features=True)


def columns_by_name(
    task: NodeTask, names: tuple[str, ...], categories: tuple[str, ...] = ()
) -> NodeTask:
    """The task with its feature columns in the order of `names`; those it lacks are an error.

    A word of one of the `categories` that the task does not have is a column of 0.
    """
    assert task.feature_names is not None
    if task.feature_names == names:
        return task
    place = {name: number for number, name in enumerate(task.feature_names)}
    absent = [name for name in names if name not in place]
    shared = tuple(f"{name}=" for name in categories if name in task.categories)
    missing = [name for name in absent if not name.startswith(shared)] if shared else absent
    if missing:
        raise missing_column(missing, task, categories)
    width, nothing = task.num_features, task.num_features  # a column of 0 is put behind the others
    features = with_zero_column(task.features) if absent else task.features
    order = torch.tensor([place.get(name, nothing) for name in names])
    return replace(
        task,
        features=pick_columns(features, order),
        feature_names=names,
        notes=(*task.notes, *unknown_columns(task, names, shared)),
        missing=moved_columns(task.missing, order, width),
        categories=categories,
    )


def missing_column(missing: list[str], task: NodeTask, categories: tuple[str, ...]) -> ValueError:
    """What to say of columns that the model needs and the task lacks."""
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    kind = next((name for name in categories if missing[0].startswith(f"{name}=")), None)
    if kind is not None and kind in (task.feature_names or ()):
        return ValueError(f"column {kind!r} must hold words as in training, got numbers")
    if missing[0] in task.categories:
        return ValueError(f"column {missing[0]!r} must hold numbers as in training, got words")
    wanted = kind or missing[0]
    return ValueError(
        f"features must have the columns the model was trained on, got none called {wanted!r}{more}"
    )


def unknown_columns(task: NodeTask, names: tuple[str, ...], shared: tuple[str, ...]) -> list[str]:
    """Notes on columns, and on words of categories, that the model does not know."""
    unknown = sorted(set(task.feature_names or ()) - set(names))
    words = [name for name in unknown if shared and name.startswith(shared)]
    others = [name for name in unknown if name not in words]
    notes = []
    if others:
        listed = ", ".join(others[:5])
        notes.append(f"feature columns the model does not know are left out: {listed}")
    if words:
        listed = ", ".join(words[:5])
        notes.append(f"words the model does not know count as none of its categories: {listed}")
    return notes


def with_zero_column(features: Tensor | SparseFeatures) -> Tensor | SparseFeatures:
    """The features with one more column, which is 0."""
    if isinstance(features, SparseFeatures):
        width = features.shape[1] + 1
        return SparseFeatures(features.start, features.column, features.value, width)
    return torch.cat([features, features.new_zeros(len(features), 1)], dim=1)


def moved_columns(missing: Tensor | None, order: Tensor, width: int) -> Tensor | None:
    """The places of missing values after the columns `order` were picked of `width`."""
    if missing is None:
        return None
    place = torch.full((width + 1,), -1)
    place[order] = torch.arange(len(order))
    columns = place[missing[:, 1]]
    return torch.stack([missing[:, 0], columns], dim=1)[columns >= 0]


def pick_columns(features: Tensor | SparseFeatures, columns: Tensor) -> Tensor | SparseFeatures:
    """Some columns of features, in the order given."""
    if isinstance(features, SparseFeatures):
        return SparseFeatures.from_scipy(features.to_scipy()[:, columns.numpy()])
    return features[:, columns]


def node_names(task: NodeTask) -> tuple[str, ...]:
    """The ids of all nodes as text; their numbers when they have no ids."""
    return tuple(str(name) for name in task.ids)
