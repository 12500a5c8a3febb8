"""ElasticSmoother: the certified solver as a scikit-learn transformer (needs scikit-learn)."""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.solution import Solution


class ElasticSmoother(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Rows of X smoothed along a graph, with a certificate.

    One row per node. `fit(X, graph=...)` solves; without a graph the rows form a chain in their
    order (a time series). `transform` returns the smoothed rows of the X it was fitted to, and
    solves anew for any other X: on the same graph, or along its own chain if there was none.

    Attributes after fit: value_, dual_, gap_, relative_gap_, certified_, pieces_ (a piece number
    per node), boundary_edges_ (k, 2) node pairs, most saturated first, graph_, n_features_in_.
    """

    def __init__(
        self,
        lambda1: float = 1.0,
        lambda2: float = 0.0,
        norm: str = "l21",
        *,
        order: int = 0,
        rtol: float = 1e-6,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.norm = norm
        self.order = order
        self.rtol = rtol

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: Graph | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """The smoother fitted to X; `sample_weight` is the data weight per node, 0 = missing."""
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        self.has_graph_ = graph is not None
        self.graph_ = chain(len(rows)) if graph is None else graph
        solution = self._solve(rows, self.graph_, sample_weight)
        self.fitted_rows_ = rows
        self.value_ = solution.value.numpy()
        self.dual_ = solution.dual.numpy()
        self.gap_ = solution.gap
        self.relative_gap_ = solution.relative_gap
        self.certified_ = solution.certified
        self.n_iter_ = max(solution.steps, 1)
        self.pieces_ = solution.pieces().numpy()
        edges = solution.boundary().edge
        ends = torch.stack([self.graph_.tail[edges], self.graph_.head[edges]], 1)
        self.boundary_edges_ = ends.numpy()
        return self

    def transform(self, X: Any) -> NDArray[np.floating]:
        """The smoothed rows (n, d)."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if rows.shape == self.fitted_rows_.shape and np.array_equal(rows, self.fitted_rows_):
            return np.array(self.value_, dtype=rows.dtype)
        graph = self.graph_ if self.has_graph_ else chain(len(rows))
        return self._solve(rows, graph, None).value.numpy().astype(rows.dtype)

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: Graph | None = None,
        sample_weight: Any = None,
    ) -> NDArray[np.floating]:
        """fit, then the smoothed rows of the same X."""
        return self.fit(X, y, graph=graph, sample_weight=sample_weight).transform(X)

    def _solve(self, rows: NDArray[np.floating], graph: Graph, sample_weight: Any) -> Solution:
        if len(rows) != graph.num_nodes:
            raise ValueError(
                f"X must have one row per node of the graph ({graph.num_nodes}), got {len(rows)}"
            )
        weight = None
        if sample_weight is not None:
            weight = torch.tensor(np.asarray(sample_weight, dtype=np.float64))
            if not bool((weight != 0).any()):
                raise ValueError("sample_weight must not be zero everywhere, got only zero weights")
        return minimise(
            torch.tensor(rows),
            graph,
            ElasticPenalty(float(self.lambda1), float(self.lambda2), self.norm),
            data_weight=weight,
            order=self.order,
            rtol=self.rtol,
        )

    @property
    def _n_features_out(self) -> int:
        """As many columns out as in: names the columns of pandas output."""
        return int(self.n_features_in_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the input's columns."""
        from sklearn.utils.validation import _check_feature_names_in

        names: NDArray[np.object_] = _check_feature_names_in(self, input_features)
        return names


def chain(num_nodes: int) -> Graph:
    """Nodes in a row, not normalised: the graph of a sequence."""
    node = torch.arange(num_nodes)
    index = torch.stack([node[:-1], node[1:]])
    return Graph.from_edge_index(index, num_nodes, undirected=True, normalization="none")


EXPECTED_FAILED_CHECKS = {
    "check_methods_subset_invariance": "a row's result depends on its neighbours: the rows of X "
    "are the nodes of one graph, so a part of X is another problem",
    "check_methods_sample_order_invariance": "without a graph the order of the rows is the chain "
    "they form",
}
