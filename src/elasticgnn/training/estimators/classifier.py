"""ElasticGNN as an estimator with scikit-learn's conventions (which is not needed for it)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.data.labels import is_unknown, number_known, plain_list
from elasticgnn.data.own.targets import MANY_CLASSES
from elasticgnn.graph.any_graph import any_graph
from elasticgnn.nn import ModelSettings
from elasticgnn.training.estimators.arrays import as_features, column_names, from_text
from elasticgnn.training.estimators.settings import SettingsByName
from elasticgnn.training.fit import fit
from elasticgnn.training.loop.history import History
from elasticgnn.training.make_model import make_model
from elasticgnn.training.model.trained_model import TrainedModel, trained_on
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.splits.selection import selection_split
from elasticgnn.training.tuning import Leaderboard, tune


@dataclass(eq=False)
class ElasticGNNClassifier(SettingsByName):
    """Node classification: fit(X, y, graph=...), y = -1 or None where the class is unknown.

    X is a numpy array, a table of pandas (whose columns are found again by their names), a scipy
    sparse matrix, a tensor or SparseFeatures; graph a Graph, a scipy
    adjacency matrix or an edge_index. A share of the known nodes selects the epoch (validation).
    tune: compares models for `minutes` by `metric` instead, the best of which is used; what it is
    worth stands in leaderboard_.

    >>> from elasticgnn.training import ElasticGNNClassifier
    >>> known = task.labels.clone()
    >>> known[::3] = -1  # these are asked for
    >>> classifier = ElasticGNNClassifier(epochs=20).fit(task.features, known, graph=task.graph)
    >>> classifier.predict().shape
    (60,)
    """

    lambda1: float = 1.0
    lambda2: float = 1.0
    norm: str = "l21"
    steps: int = 10
    hidden_channels: int = 64
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 500
    patience: int | None = 100
    validation_share: float = 0.2
    random_state: int = 0
    tune: bool = False
    minutes: float = 3.0
    metric: str = "auto"

    _estimator_type = "classifier"

    def fit(self, X: Any, y: Any, *, graph: Any) -> ElasticGNNClassifier:
        """Trains on the nodes whose class is known; sets classes_, trained_ and history_.

        With `tune` there is leaderboard_ in place of history_.
        """
        features = as_features(X)
        whole = any_graph(graph, len(features))
        names, labels = number_known(y)
        if len(labels) != len(features):
            raise ValueError(
                f"y must have {len(features)} entries, one per row of X, got {len(labels)}"
            )
        check_classes(names, int((labels >= 0).sum()))
        self.classes_: NDArray[Any] = np.array(names)
        columns = column_names(X)
        self.note_columns(int(features.shape[1]), columns)
        called = tuple(map(str, names))
        task = NodeTask("given", whole, features, labels, called, feature_names=columns)
        self.task_: NodeTask | None = task
        if self.tune:
            self.leaderboard_: Leaderboard = tune(
                task, minutes=self.minutes, metric=self.metric, seed=self.random_state
            )
            self.trained_: TrainedModel = self.leaderboard_.winner
            return self
        self.trained_ = self.fit_own_settings(task)
        return self

    def fit_own_settings(self, task: NodeTask) -> TrainedModel:
        """The model of the estimator's own settings."""
        generator = torch.Generator().manual_seed(self.random_state)
        split = selection_split(task.labels, self.validation_share, generator)
        settings = self.settings()
        model = make_model(settings, task, generator)
        plan = TrainingPlan(self.learning_rate, self.weight_decay, self.epochs, self.patience)
        self.history_: History = fit(model, task, split, plan, generator)
        return trained_on(task, model, settings)

    def settings(self) -> ModelSettings:
        """The network's settings."""
        return ModelSettings(
            hidden_channels=self.hidden_channels,
            dropout=self.dropout,
            steps=self.steps,
            lambda1=self.lambda1,
            lambda2=self.lambda2,
            norm=self.norm,
        )

    def predict_proba(self, X: Any = None, *, graph: Any = None) -> NDArray[np.float64]:
        """Class probabilities (n, classes); X and graph default to those of `fit`."""
        task = self.asked_about(X, graph)
        return self.trained_.predict(task).probability.numpy()

    def asked_about(self, X: Any, graph: Any) -> NodeTask:
        """The nodes that X and graph mean; what is None is that of `fit`."""
        self.check_fitted()
        known, classes = self.task_, self.trained_.class_names
        if X is not None and graph is not None:
            return unlabelled(X, graph, classes)
        if known is None:
            raise ValueError("X and graph must be given after loading without them, got None")
        graph = known.graph if graph is None else graph
        if X is not None:
            return unlabelled(X, graph, classes)
        asked = unlabelled(known.features, graph, classes)
        return replace(asked, feature_names=known.feature_names)

    def predict(self, X: Any = None, *, graph: Any = None) -> NDArray[Any]:
        """The most probable class of each node, as it was named in y."""
        probability = self.predict_proba(X, graph=graph)
        best: NDArray[Any] = self.classes_[probability.argmax(1)]
        return best

    def score(self, X: Any, y: Any, *, graph: Any = None) -> float:
        """Accuracy on the nodes whose class in `y` is known."""
        predicted, truth = self.predict(X, graph=graph), plain_list(y)
        right = [predicted[i] == name for i, name in enumerate(truth) if not is_unknown(name)]
        if not right:
            raise ValueError("y must name at least one class, got none")
        return float(np.mean(right))

    def check_fitted(self) -> None:
        """Refuses before `fit`."""
        if not hasattr(self, "trained_"):
            raise ValueError("fit must be called before predict, got an unfitted estimator")

    def save(self, path: str | Path) -> None:
        """Writes the trained model with all parameters; also `elasticgnn predict` reads it."""
        self.check_fitted()
        facts = {"estimator": self.get_params(), "classes": json_classes(self.classes_)}
        replace(self.trained_, facts={**self.trained_.facts, **facts}).save(path)

    @classmethod
    def load(cls, path: str | Path, X: Any = None, *, graph: Any = None) -> ElasticGNNClassifier:
        """A fitted estimator from a file; X and graph, if given, are what `predict` speaks of."""
        trained = TrainedModel.load(path)
        s = trained.settings
        plain = cls(s.lambda1, s.lambda2, s.norm, s.steps, s.hidden_channels, s.dropout)
        loaded = plain.set_params(**trained.facts.get("estimator", {}))
        loaded.classes_ = np.array(trained.facts.get("classes") or from_text(trained.class_names))
        loaded.trained_ = trained
        loaded.note_columns(trained.num_features, trained.feature_names)
        loaded.task_ = None
        if X is not None and graph is not None:
            loaded.task_ = unlabelled(X, graph, trained.class_names)
        return loaded


def unlabelled(X: Any, graph: Any, class_names: tuple[str, ...]) -> NodeTask:
    """Nodes whose classes are asked for."""
    features = as_features(X)
    whole = any_graph(graph, len(features))
    unknown = torch.full((whole.num_nodes,), -1)
    names = column_names(X)
    return NodeTask("given", whole, features, unknown, class_names, feature_names=names)


def check_classes(names: list[Any], known: int) -> None:
    """Refuses what names fewer than two classes, and numbers that are to be predicted."""
    if len(names) < 2:
        raise ValueError(
            f"y must show at least 2 classes (-1, None and NaN are unknown ones), got {names}"
        )
    if len(names) <= MANY_CLASSES or isinstance(names[0], str):
        return
    if 5 * len(names) > known or any(float(name) % 1 for name in names):
        raise ValueError(
            f"y must name classes, got {len(names)} different numbers for {known} nodes: "
            "a quantity, for which there is ElasticGNNRegressor"
        )


def json_classes(classes: NDArray[Any]) -> list[Any] | None:
    """The classes as a file can hold them; None where only their names can be kept."""
    plain = classes.tolist()
    return plain if all(isinstance(name, str | int | float | bool) for name in plain) else None
