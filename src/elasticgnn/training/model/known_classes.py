"""Labels of another file in the order of a model's classes, and whole tasks so."""

from __future__ import annotations

from dataclasses import replace

import torch

from elasticgnn.data import NodeTask
from elasticgnn.training.model.preparation import prepared_own
from elasticgnn.training.model.trained_model import TrainedModel


def with_known_classes(task: NodeTask, class_names: tuple[str, ...]) -> NodeTask:
    """The task whose labels are positions in `class_names`; a class beside them is an error."""
    if task.class_names == class_names or len(task.labelled) == 0:
        return replace(task, class_names=class_names) if len(task.labelled) == 0 else task
    place = {name: number for number, name in enumerate(class_names)}
    unknown = [name for name in task.class_names if name not in place]
    if unknown:
        raise ValueError(
            f"labels must be of the classes the model knows ({', '.join(class_names[:5])}…), "
            f"got {unknown[0]!r}"
        )
    order = torch.tensor([*(place[name] for name in task.class_names), -1])  # -1 stays -1
    return replace(task, labels=order[task.labels], class_names=class_names)


def as_trained(trained: TrainedModel, task: NodeTask) -> NodeTask:
    """The task as the model is fed: its columns, prepared, and labels of its classes."""
    trained.check_classes()
    return trained.prepared(with_known_classes(task, trained.class_names))


def as_fed(task: NodeTask, trained: TrainedModel | None, *, own: bool) -> NodeTask:
    """The task as this model is fed; without one, as own files or a data set feed a new model."""
    if trained is not None:
        return as_trained(trained, task)
    return prepared_own(task)[0] if own else task
