"""ElasticRegressor: values at some nodes of a graph predict the others (needs scikit-learn)."""

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
from elasticgnn.solver.losses import Loss, as_loss
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.problem.instance import check_graph
from elasticgnn.solver.sample_weights import sample_weights
from elasticgnn.solver.smoother import chain
from elasticgnn.solver.solution import Solution

FLAT = 1e290  # a strength that makes everything flat


class ElasticRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """y (m,) or (m, d) at nodes X (m, 1), smoothed along `graph` and filled in at all other nodes.

    A sample is one node, so that cross-validation leaves out nodes: GridSearchCV and
    cross_val_score choose lambda1 by R^2 at nodes that were not given. Several values at one node
    are averaged, weighted by `sample_weight`. With `loss` "logistic" or "poisson" it predicts
    probabilities or rates. Where a component has no value, the best constant for all values that
    were given is foretold.

    Attributes after fit: value_ (n,) or (n, d), certified_, verdict_, method_, gap_.

    >>> from elasticgnn.solver.regressor import ElasticRegressor
    >>> known = ElasticRegressor(chain, lambda1=0.1).fit([[0], [3]], [0.0, 1.0])
    >>> known.predict([[0], [3]]).round(2).tolist(), known.certified_
    ([0.1, 0.9], True)
    """

    def __init__(
        self,
        graph: Graph,
        lambda1: float = 1.0,
        lambda2: float = 0.0,
        norm: str = "l21",
        *,
        order: int = 0,
        boundary: str = "graph",
        rtol: float = 1e-6,
        loss: str | Loss = "squared",
        lower: float | None = None,
        upper: float | None = None,
        sparsity: float = 0.0,
    ) -> None:
        self.graph = graph
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.norm = norm
        self.order = order
        self.boundary = boundary
        self.rtol = rtol
        self.loss = loss
        self.lower = lower
        self.upper = upper
        self.sparsity = sparsity

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
        mass = np.bincount(nodes, weight, shape[0]).astype(np.float64)
        sums = np.zeros(shape)
        np.add.at(sums, nodes, rows * weight.reshape(-1, *[1] * (rows.ndim - 1)))
        total = np.where(mass > 0, mass, 1.0).reshape(-1, *[1] * (rows.ndim - 1))
        averages = torch.from_numpy(sums / total)
        trend = (self.order, self.boundary)
        solution = self._solve(self.graph, averages, mass, float(self.lambda1), trend)
        value = loss.mean(solution.value.numpy())
        if np.isnan(value).any():  # a component without a value: the best constant of all others
            level = self._solve(chain(len(rows)), torch.from_numpy(rows), weight, FLAT)
            value = np.where(np.isnan(value), loss.mean(level.value.numpy())[0], value)
        self.value_ = value
        self.certified_ = solution.certified
        self.verdict_, self.method_ = str(solution.verdict), solution.method
        self.gap_ = solution.gap
        return self

    def _solve(
        self,
        graph: Graph,
        values: torch.Tensor,
        weight: NDArray[np.float64],
        lambda1: float,
        trend: tuple[int, str] = (0, "graph"),
    ) -> Solution:
        return minimise(
            values,
            graph,
            ElasticPenalty(lambda1, float(self.lambda2), self.norm),
            data_weight=torch.from_numpy(weight),
            order=trend[0],
            boundary=trend[1],
            rtol=self.rtol,
            loss=self.loss,
            lower=self.lower,
            upper=self.upper,
            sparsity=self.sparsity,
        )

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
