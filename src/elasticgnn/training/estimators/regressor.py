"""Node regression as an estimator with scikit-learn's conventions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.graph.any_graph import any_graph
from elasticgnn.training.estimators.arrays import as_features, column_names
from elasticgnn.training.estimators.settings import SettingsByName
from elasticgnn.training.model.trained_model import TrainedModel
from elasticgnn.training.tuning import Leaderboard, tune
from elasticgnn.training.tuning.metrics import number_score


@dataclass(eq=False)
class ElasticGNNRegressor(SettingsByName):
    """Numbers at nodes, from features and graph: fit(X, y, graph=...), y NaN where unknown.

    Models are compared for `minutes` by `metric` (auto: R^2), and the best is used; what it is
    worth stands in leaderboard_. (`elasticgnn.solver.regressor.ElasticRegressor` smooths given
    numbers along a graph and knows no features.)

    >>> from elasticgnn.training import ElasticGNNRegressor
    >>> y = np.where(task.labels > 0, 1.0, 2.0)  # NaN where unknown
    >>> found = ElasticGNNRegressor().fit(task.features, y, graph=task.graph)  # doctest: +SKIP
    """

    minutes: float = 3.0
    metric: str = "auto"
    random_state: int = 0

    _estimator_type = "regressor"

    def fit(self, X: Any, y: Any, *, graph: Any) -> ElasticGNNRegressor:
        """Trains on the nodes whose number is known; sets trained_ and leaderboard_."""
        numbers = np.asarray(y, dtype=np.float64)
        task = given_task(X, graph)
        if numbers.shape != (task.num_nodes,):
            raise ValueError(f"y must be ({task.num_nodes},), got {numbers.shape}")
        task = replace(task, values=torch.from_numpy(numbers.copy()))
        self.leaderboard_: Leaderboard = tune(
            task, minutes=self.minutes, metric=self.metric, seed=self.random_state
        )
        self.trained_: TrainedModel = self.leaderboard_.winner
        self.task_: NodeTask | None = task
        self.note_columns(task.num_features, task.feature_names)
        return self

    def predict(self, X: Any = None, *, graph: Any = None) -> NDArray[np.float64]:
        """The number of each node (n,); X and graph default to those of `fit`."""
        predicted: NDArray[np.float64] = (
            self.checked().predict_numbers(self.asked_about(X, graph)).value.numpy()
        )
        return predicted

    def predict_interval(
        self, X: Any = None, *, graph: Any = None, coverage: float = 0.9
    ) -> NDArray[np.float64]:
        """Lower and upper ends (n, 2) that hold the number of a share `coverage` of nodes."""
        trained = self.checked()
        half = trained.half_width(coverage)
        ends = trained.predict_numbers(self.asked_about(X, graph)).interval(half)
        return torch.stack(ends, dim=1).numpy()

    def score(self, X: Any, y: Any, *, graph: Any = None) -> float:
        """R^2 on the nodes whose number in `y` is known."""
        truth = np.asarray(y, dtype=np.float64)
        known = ~np.isnan(truth)
        if not known.any():
            raise ValueError("y must hold at least one number, got none")
        return number_score("r2", truth[known], self.predict(X, graph=graph)[known])

    def asked_about(self, X: Any, graph: Any) -> NodeTask:
        """The nodes that X and graph mean; what is None is that of `fit`."""
        known = self.task_
        if X is not None and graph is not None:
            return given_task(X, graph)
        if known is None:
            raise ValueError("X and graph must be given after loading without them, got None")
        X = known.features if X is None else X
        return given_task(X, known.graph if graph is None else graph)

    def checked(self) -> TrainedModel:
        """The trained model; refuses an estimator without one."""
        if not hasattr(self, "trained_"):
            raise ValueError("fit must be called before predict, got an unfitted estimator")
        return self.trained_

    def save(self, path: str | Path) -> None:
        """Writes the trained model; also `elasticgnn predict` reads it."""
        trained = self.checked()
        facts = {**trained.facts, "estimator": self.get_params()}
        replace(trained, facts=facts).save(path)

    @classmethod
    def load(cls, path: str | Path) -> ElasticGNNRegressor:
        """A fitted estimator from a file."""
        trained = TrainedModel.load(path)
        if trained.unit is None:
            raise ValueError(f"{path} must hold a regression model, got one of classes")
        loaded = cls().set_params(**trained.facts.get("estimator", {}))
        loaded.trained_, loaded.task_ = trained, None
        loaded.note_columns(trained.num_features, trained.feature_names)
        return loaded


def given_task(X: Any, graph: Any) -> NodeTask:
    """Nodes without anything known of them."""
    features = as_features(X)
    whole = any_graph(graph, len(features))
    unknown = torch.full((whole.num_nodes,), -1)
    return NodeTask("given", whole, features, unknown, (), feature_names=column_names(X))
