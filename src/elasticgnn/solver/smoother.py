"""ElasticSmoother: the certified solver as a scikit-learn transformer (needs scikit-learn)."""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.extras import optional_imports

with optional_imports():
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.losses import Loss
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.observed import observed
from elasticgnn.solver.problem.instance import check_graph
from elasticgnn.solver.sample_weights import sample_weights
from elasticgnn.solver.solution import Solution


class ElasticSmoother(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Rows of X smoothed along a graph, with a certificate.

    One row per node of `graph`, given here or to `fit`; without one the rows form a chain in their
    order (a time series). NaN marks a missing value and is filled. `transform` returns the smoothed
    rows of the X it was fitted to, and solves anew for any other X: on the same graph and with the
    same sample weights, or along its own chain if there was no graph. To choose a strength by
    GridSearchCV take ElasticRegressor, whose samples are single nodes.

    `loss`, `lower`, `upper` and `sparsity` are those of minimise; the rows are F itself, that is
    logarithms of odds or rates for "logistic" and "poisson".

    Attributes after fit: value_, dual_, gap_, relative_gap_, certified_, verdict_, method_, pieces_
    (a piece number per node), boundary_edges_ (k, 2) node pairs, most saturated first, graph_,
    n_features_in_.

    >>> from elasticgnn.solver.smoother import ElasticSmoother
    >>> smoother = ElasticSmoother(lambda1=0.2).fit([[0.0], [0.2], [1.0], [1.2]])
    >>> smoother.transform([[0.0], [0.2], [1.0], [1.2]]).ravel().round(2).tolist()
    [0.2, 0.2, 1.0, 1.0]
    >>> smoother.certified_, smoother.boundary_edges_.tolist()
    (True, [[1, 2]])
    """

    def __init__(
        self,
        lambda1: float = 1.0,
        lambda2: float = 0.0,
        norm: str = "l21",
        *,
        order: int = 0,
        boundary: str = "graph",
        rtol: float = 1e-6,
        graph: Graph | None = None,
        loss: str | Loss = "squared",
        lower: float | None = None,
        upper: float | None = None,
        sparsity: float = 0.0,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.norm = norm
        self.order = order
        self.boundary = boundary
        self.rtol = rtol
        self.graph = graph
        self.loss = loss
        self.lower = lower
        self.upper = upper
        self.sparsity = sparsity

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: Graph | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """The smoother fitted to X; `sample_weight` is the data weight per node, 0 = missing."""
        rows = self._rows(X, reset=True)
        given = self.graph if graph is None else graph
        self.has_graph_ = given is not None
        self.graph_ = chain(len(rows)) if given is None else given
        solution = self._solve(rows, self.graph_, sample_weight)
        self.fitted_rows_, self.sample_weight_ = rows, sample_weight
        self.value_ = solution.value.numpy()
        self.dual_ = solution.dual.numpy()
        self.gap_ = solution.gap
        self.relative_gap_ = solution.relative_gap
        self.certified_ = solution.certified
        self.verdict_ = str(solution.verdict)
        self.method_ = solution.method
        self.n_iter_ = max(solution.steps, 1)
        self.pieces_ = solution.pieces().numpy()
        edges = solution.boundary().edge
        ends = torch.stack([self.graph_.tail[edges], self.graph_.head[edges]], 1)
        self.boundary_edges_ = ends.numpy()
        return self

    def transform(self, X: Any) -> NDArray[np.floating]:
        """The smoothed rows (n, d)."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        if np.array_equal(rows, self.fitted_rows_, equal_nan=True):
            return np.array(self.value_, dtype=rows.dtype)
        graph = self.graph_ if self.has_graph_ else chain(len(rows))
        weight = self.sample_weight_ if len(rows) == len(self.fitted_rows_) else None
        return self._solve(rows, graph, weight).value.numpy().astype(rows.dtype)

    def _rows(self, X: Any, *, reset: bool) -> NDArray[np.floating]:
        rows: NDArray[np.floating] = validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", reset=reset
        )
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

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
        check_graph(graph)
        if len(rows) != graph.num_nodes:
            raise ValueError(
                f"X must have one row per node of the graph ({graph.num_nodes}), got {len(rows)}; "
                "to leave nodes out, as cross-validation does, take ElasticRegressor"
            )
        given, seen = observed(torch.tensor(rows))
        if sample_weight is not None:
            seen = seen * torch.from_numpy(sample_weights(sample_weight, len(rows)))[:, None]
        return minimise(
            given,
            graph,
            ElasticPenalty(float(self.lambda1), float(self.lambda2), self.norm),
            data_weight=seen,
            order=self.order,
            boundary=self.boundary,
            rtol=self.rtol,
            loss=self.loss,
            lower=self.lower,
            upper=self.upper,
            sparsity=self.sparsity,
        )

    @property
    def _n_features_out(self) -> int:
        """As many columns out as in: names the columns of pandas output."""
        return int(self.n_features_in_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the input's columns."""
        with optional_imports():
            from sklearn.utils.validation import _check_feature_names_in

        names: NDArray[np.object_] = _check_feature_names_in(self, input_features)
        return names


def chain(num_nodes: int) -> Graph:
    """Nodes in a row, not normalised: the graph of a sequence."""
    node = torch.arange(num_nodes)
    index = torch.stack([node[:-1], node[1:]])
    return Graph.from_edge_index(index, num_nodes, undirected=True, normalization="none")


EXPECTED_FAILED_CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": "a row of weight 0 is still a node that its "
    "neighbours are tied to; without the row the graph is another one",
    "check_methods_subset_invariance": "a row's result depends on its neighbours: the rows of X "
    "are the nodes of one graph, so a part of X is another problem",
    "check_methods_sample_order_invariance": "without a graph the order of the rows is the chain "
    "they form",
}
