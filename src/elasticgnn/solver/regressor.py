"""ElasticRegressor: values at some nodes of a graph foretell the others (needs scikit-learn)."""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.extras import optional_imports

with optional_imports():
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.instance import check_graph
from elasticgnn.solver.losses import Loss, as_loss
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.sample_weights import sample_weights


class ElasticRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """y (m,) or (m, d) at nodes X (m, 1), smoothed along `graph` and filled in at all other nodes.

    A sample is one node, so that cross-validation leaves out nodes: GridSearchCV and
    cross_val_score choose lambda1 by R^2 at nodes that were not given. Several values at one node
    are averaged, weighted by `sample_weight`. With `loss` "logistic" or "poisson" it foretells
    probabilities or rates.

    Attributes after fit: value_ (n,) or (n, d), certified_, verdict_, method_, gap_.
    """

    def __init__(
        self,
        graph: Graph,
        lambda1: float = 1.0,
        lambda2: float = 0.0,
        norm: str = "l21",
        *,
        order: int = 0,
        rtol: float = 1e-6,
        loss: str | Loss = "squared",
        lower: float | None = None,
        upper: float | None = None,
    ) -> None:
        self.graph = graph
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.norm = norm
        self.order = order
        self.rtol = rtol
        self.loss = loss
        self.lower = lower
        self.upper = upper

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """The regressor fitted to values y at nodes X."""
        nodes = self._nodes(X)
        rows = check_array(y, ensure_2d=False, dtype=np.float64)
        check_consistent_length(nodes, rows)
        weight = sample_weights(sample_weight, len(nodes))
        loss = as_loss(self.loss)
        if loss.edge_radius > 0 and len(np.unique(nodes)) < len(nodes):
            raise ValueError(f"X must name every node once for loss {loss.name!r}, got one twice")
        shape = (self.graph.num_nodes, *rows.shape[1:])
        mass = np.bincount(nodes, weight, shape[0])
        sums = np.zeros(shape)
        np.add.at(sums, nodes, rows * weight.reshape(-1, *[1] * (rows.ndim - 1)))
        total = np.where(mass > 0, mass, 1.0).reshape(-1, *[1] * (rows.ndim - 1))
        solution = minimise(
            torch.from_numpy(sums / total),
            self.graph,
            ElasticPenalty(float(self.lambda1), float(self.lambda2), self.norm),
            data_weight=torch.from_numpy(mass),
            order=self.order,
            rtol=self.rtol,
            loss=loss,
            lower=self.lower,
            upper=self.upper,
        )
        # a component without a value has the mean of all: the best constant there is
        mean = (rows * weight.reshape(-1, *[1] * (rows.ndim - 1))).sum(0) / weight.sum()
        value = solution.value.numpy()
        value = loss.mean(value)
        self.value_ = np.where(np.isnan(value), mean, value)
        self.certified_ = solution.certified
        self.verdict_, self.method_ = str(solution.verdict), solution.method
        self.gap_ = solution.gap
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The value at each node of X (m, 1)."""
        check_is_fitted(self)
        return np.asarray(self.value_[self._nodes(X)])

    def _nodes(self, X: Any) -> NDArray[np.int64]:
        check_graph(self.graph)
        rows = check_array(X, dtype=None)
        wanted = f"X must be (m, 1) node numbers below {self.graph.num_nodes}"
        if rows.shape[1] != 1:
            raise ValueError(f"{wanted}, got shape {rows.shape}")
        if rows.dtype.kind not in "iuf":
            raise ValueError(f"{wanted}, got {rows[0, 0]!r}")
        nodes: NDArray[np.int64] = rows[:, 0].astype(np.int64)
        good = (nodes == rows[:, 0]) & (nodes >= 0) & (nodes < self.graph.num_nodes)
        if not good.all():
            raise ValueError(f"{wanted}, got {rows[~good, 0][0]}")
        return nodes
