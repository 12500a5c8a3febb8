"""A trained model with everything needed to use it again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.nn import ModelSettings
from elasticgnn.training.model.known_columns import columns_by_id, columns_by_name, node_names
from elasticgnn.training.model.preparation import Preparation
from elasticgnn.training.prediction.conformal import threshold
from elasticgnn.training.prediction.predict import (
    NumberPrediction,
    Prediction,
    predict,
    predict_numbers,
)


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model, its settings, and what it was trained on.

    data: fingerprint and name of the task; nodes: its node ids when features are stand-ins made
    from the graph, which are of use on these nodes only; facts: accuracy, seed, split, versions;
    feature_names: of the columns, by which another task's columns are found; preparation: what is
    done to them first; categories: of words, whose columns are called `name=word`; fill: what
    stands for a missing value in each column. Probabilities are softmax(logits / temperature +
    bias), which makes them true. unit: mean and deviation of the numbers that a regression model
    predicts, None where it predicts classes.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.training import TrainedModel, trained_on
    >>> with TemporaryDirectory() as folder:
    ...     trained_on(task, model, ModelSettings()).save(Path(folder) / "model.safetensors")
    ...     TrainedModel.load(Path(folder) / "model.safetensors").class_names
    ('block 0', 'block 1')
    """

    model: nn.Module
    settings: ModelSettings
    class_names: tuple[str, ...]
    num_features: int
    data: dict[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None
    preparation: Preparation | None = None
    temperature: float = 1.0
    categories: tuple[str, ...] = ()
    fill: tuple[float, ...] | None = None
    bias: tuple[float, ...] | None = None
    unit: tuple[float, float] | None = None

    @property
    def family(self) -> str:
        """What the leaderboard calls the model; the name of its settings if there was none."""
        return str(self.facts.get("family") or self.settings.name)

    @property
    def feature_columns(self) -> tuple[str, ...] | None:
        """The columns that a table must have for the model; None where it knows no names."""
        if self.nodes is not None or self.feature_names is None:
            return None
        of_words = tuple(f"{name}=" for name in self.categories)
        numbers = [name for name in self.feature_names if not name.startswith(of_words)]
        return (*numbers, *self.categories)

    @property
    def interval_scores(self) -> list[float]:
        """Errors on nodes kept away, from which intervals are made; ValueError without them."""
        if "conformal" not in self.facts:
            raise ValueError("model must have been tuned by `elasticgnn train` for intervals")
        return list(self.facts["conformal"])

    def half_width(self, coverage: float) -> float:
        """How far intervals that hold a share `coverage` of numbers reach to either side."""

        return threshold(self.interval_scores, coverage)

    @property
    def num_outputs(self) -> int:
        """How many numbers the model gives a node: one per class, or the one to predict."""
        return len(self.class_names) if self.unit is None else 1

    def predict_numbers(self, task: NodeTask) -> NumberPrediction:
        """The numbers that a regression model gives the task's nodes."""
        if self.unit is None:
            raise ValueError("model must have been trained with --target number, got classes")
        task = self.prepared(task)
        return predict_numbers(self.model, task.features, task.graph, self.unit)

    def predict(self, task: NodeTask) -> Prediction:
        """What the model predicts for the nodes; the task must have the features it knows."""
        self.check_classes()
        task = self.prepared(task)
        return predict(
            self.model,
            task.features,
            task.graph,
            temperature=self.temperature,
            bias=self.bias,
        )

    def check_classes(self) -> None:
        """Refuses a model of numbers."""
        if self.unit is not None:
            raise ValueError("model must predict classes, got one of --target number")

    @property
    def logit_offset(self) -> Tensor | None:
        """What calibration adds to logits before their largest is the class; None adds nothing."""
        return None if self.bias is None else self.temperature * torch.tensor(self.bias)

    def prepared(self, task: NodeTask) -> NodeTask:
        """The task as the model is fed: the columns it knows, prepared as for its training."""
        task = self.filled(self.with_known_columns(task))
        return task if self.preparation is None else self.preparation.apply(task)

    def with_known_columns(self, task: NodeTask) -> NodeTask:
        """The task with the columns the model was trained on, by name where both have names.

        Columns the model does not know are left out, and a note says so, as of a graph that has
        weights where that of the training had none. Stand-ins have a column for each node the
        model was trained on.
        """
        known = self.known_columns(task)
        return replace(known, notes=(*known.notes, *unlike_training(self, task)))

    def known_columns(self, task: NodeTask) -> NodeTask:
        """The task with the columns the model was trained on."""
        if self.nodes is not None:
            return columns_by_id(task, self.nodes)
        if task.made_features:
            raise ValueError(
                f"features must be given (--features): the model was trained on "
                f"{self.num_features} columns of them, got edges alone"
            )
        if self.feature_names is not None and task.feature_names is not None:
            return columns_by_name(task, self.feature_names, self.categories)
        if task.num_features != self.num_features:
            raise ValueError(
                f"features must have the {self.num_features} columns the model was trained on, "
                f"got {task.num_features}"
            )
        return task

    def filled(self, task: NodeTask) -> NodeTask:
        """The task with the values of the training data where its own are missing."""
        if task.missing is None or self.fill is None or not isinstance(task.features, Tensor):
            return task
        row, column = task.missing.T
        features = task.features.clone()
        features[row, column] = torch.tensor(self.fill)[column].to(features.dtype)
        return replace(task, features=features)

    def save(self, path: str | Path) -> None:
        """Writes one safetensors file, complete or not at all."""
        from elasticgnn.training.model.file import save_model

        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> TrainedModel:
        """The model of a file written by `save`."""
        from elasticgnn.training.model.file import load_model

        return load_model(Path(path))


def trained_on(
    task: NodeTask,
    model: nn.Module,
    settings: ModelSettings,
    facts: dict[str, Any] | None = None,
) -> TrainedModel:
    """`model` with what a file must say of the task it was trained on.

    >>> from elasticgnn.training import trained_on
    >>> trained_on(task, model, ModelSettings()).num_features
    16
    """
    return TrainedModel(
        model,
        settings,
        task.class_names,
        task.num_features,
        {"name": task.name, "fingerprint": task.fingerprint},
        node_names(task) if task.made_features else None,
        {**(facts or {}), "weighted": not task.graph.is_unweighted},
        task.feature_names,
        categories=task.categories,
        fill=medians(task),
    )


def unlike_training(trained: TrainedModel, task: NodeTask) -> list[str]:
    """Notes on what the model meets otherwise than in training, and goes on with."""
    notes, weighted = [], not task.graph.is_unweighted
    if trained.facts.get("weighted", weighted) != weighted:
        had = "unweighted" if weighted else "weighted"
        notes.append(f"edges are {'' if weighted else 'un'}weighted, the model knows {had} ones")
    if trained.feature_names and task.feature_names is None and not task.made_features:
        notes.append("features have no names: the model takes their columns in order")
    return notes


def medians(task: NodeTask) -> tuple[float, ...] | None:
    """Of the columns of one's own files, where they are not sparse."""
    if task.feature_names is None or isinstance(task.features, SparseFeatures):
        return None
    return tuple(task.features.double().quantile(0.5, dim=0).tolist()) if len(task.labels) else None
