"""A trained model with everything needed to use it again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.data import NodeTask
from elasticgnn.data.own.stand_ins import structural_features
from elasticgnn.features import SparseFeatures
from elasticgnn.nn import ModelSettings
from elasticgnn.training.prediction import (
    NumberPrediction,
    Prediction,
    predict,
    predict_numbers,
)
from elasticgnn.training.preparation import Preparation


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
    def interval_scores(self) -> list[float]:
        """Errors on nodes kept away, from which intervals are made; ValueError without them."""
        if "conformal" not in self.facts:
            raise ValueError("model must have been tuned by `elasticgnn train` for intervals")
        return list(self.facts["conformal"])

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
        """What the model says of the task's nodes; the task must have the features it knows."""
        if self.unit is not None:
            raise ValueError("model must predict classes, got one of --target number")
        task = self.prepared(task)
        return predict(
            self.model,
            task.features,
            task.graph,
            temperature=self.temperature,
            bias=self.bias,
        )

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
        from elasticgnn.training.model_file import save_model

        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> TrainedModel:
        """The model of a file written by `save`."""
        from elasticgnn.training.model_file import load_model

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


def columns_by_id(task: NodeTask, nodes: tuple[str, ...]) -> NodeTask:
    """The task with stand-in features whose column k belongs to nodes[k]."""
    names = node_names(task)
    strange, missing = sorted(set(names) - set(nodes)), sorted(set(nodes) - set(names))
    if strange or missing:
        found = repr(strange[0]) if strange else f"none called {missing[0]!r}"
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
    strange = sorted(set(task.feature_names or ()) - set(names))
    words = [name for name in strange if shared and name.startswith(shared)]
    others = [name for name in strange if name not in words]
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
    ids = range(task.num_nodes) if task.node_ids is None else task.node_ids
    return tuple(str(name) for name in ids)
