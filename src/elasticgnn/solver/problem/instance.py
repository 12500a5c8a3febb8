"""One denoising problem as plain float64 arrays: what every method of the solver works on."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import PENALTIES, ElasticPenalty
from elasticgnn.problem.penalties.registry import CONVEX_NORMS
from elasticgnn.solver.losses import Squared
from elasticgnn.solver.problem.extras import Extras, checked_strength, node_terms
from elasticgnn.solver.problem.geometry import Array as Array
from elasticgnn.solver.problem.geometry import Geometry
from elasticgnn.solver.problem.node_terms import NodeTerms
from elasticgnn.solver.problem.trend import check_order

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Instance:
    """min sum f_ik(F_ik) + sum omega_r (lambda1 |delta_r| + lambda2/2 |delta_r|^2).

    f_ik(t) = c_ik/2 (t - X_ik)^2, or what `terms` say. With channel strengths a the penalty is that
    of the row (a_k delta_rk).

    delta = K F with K the difference operator of `order`; c_ik = 0 marks a missing value. A channel
    without any value in a component has no minimiser there: its c is 1 and its X is 0, which adds
    nothing to the minimum, and `unobserved` says that the answer means nothing.
    """

    x: Array  # (n, d), 0 where the value is missing
    data_weight: Array  # (n, d) c
    geometry: Geometry
    lambda1: float
    lambda2: float
    norm: str
    unobserved: NDArray[np.bool_]  # (n, d)
    terms: NodeTerms | None = None  # None: the squared loss alone
    channel_strength: Array | None = None  # (d,) a

    @property
    def graph(self) -> Graph:
        """The graph of the problem."""
        return self.geometry.graph

    @property
    def order(self) -> int:
        """Order of the differences: 0, 1 or 2."""
        return self.geometry.order

    @property
    def is_plain(self) -> bool:
        """Whether rows are the differences along edges."""
        return self.geometry.is_plain

    @property
    def entrywise(self) -> bool:
        """Whether channels do not interact: "l1", or one channel."""
        return PENALTIES[self.norm].entrywise or self.x.shape[1] == 1

    @cached_property
    def has_node_weights(self) -> bool:
        """Whether all channels of a node have the same weight."""
        return bool((self.data_weight == self.data_weight[:, :1]).all())

    @property
    def node_weight(self) -> Array:
        """c per node (n,), where channels share it."""
        assert self.has_node_weights
        return self.data_weight[:, 0]

    @cached_property
    def is_missing(self) -> NDArray[np.bool_]:
        """(n, d): entries without data."""
        return self.data_weight == 0

    @cached_property
    def missing(self) -> NDArray[np.intp]:
        """Nodes with an entry without data."""
        return np.flatnonzero(self.is_missing.any(1))

    def channel(self, k: int) -> "Instance":
        """The problem of one channel alone."""
        column = slice(k, k + 1)
        factor = 1.0 if self.channel_strength is None else float(self.channel_strength[k])
        return replace(
            self,
            lambda1=self.lambda1 * factor,
            lambda2=self.lambda2 * factor**2,
            channel_strength=None,
            terms=None if self.terms is None else self.terms.part(column),
            x=np.ascontiguousarray(self.x[:, column]),
            data_weight=np.ascontiguousarray(self.data_weight[:, column]),
            unobserved=self.unobserved[:, column],
        )

    @property
    def channel_factor(self) -> Array | float:
        """a as a row (1, d), 1 if there is none."""
        return 1.0 if self.channel_strength is None else self.channel_strength[None, :]

    @property
    def least_channel_factor(self) -> float:
        """The least of a."""
        return 1.0 if self.channel_strength is None else float(self.channel_strength.min())

    @property
    def operator(self) -> "csr_array":
        """K: (r, n)."""
        return self.geometry.operator

    @property
    def adjoint(self) -> "csr_array":
        """K' as rows: (n, r)."""
        return self.geometry.adjoint

    @property
    def row_weight(self) -> Array:
        """omega: (r,)."""
        return self.geometry.row_weight

    @property
    def scale(self) -> Array:
        """s: (n,)."""
        return self.geometry.scale

    @property
    def num_rows(self) -> int:
        """Number of penalised differences."""
        return self.geometry.num_rows


def build_instance(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    data_weight: Tensor | None,
    order: int,
    boundary: str = "graph",
    extras: Extras | None = None,
) -> Instance:
    """The checked problem; missing values are read as 0."""
    check_graph(graph)
    _check_signal(x, graph)
    if penalty.norm not in CONVEX_NORMS:
        raise ValueError(
            f"norm must be one of {CONVEX_NORMS} for the solver, got {penalty.name!r} "
            "(elasticgnn.problem.certify measures the signal of any penalty with a conjugate)"
        )
    lambda1, lambda2 = (strength(n, getattr(penalty, n)) for n in ("lambda1", "lambda2"))
    check_order(graph, order, boundary)
    rows = x.detach().double().cpu().numpy()
    rows = rows[:, None] if rows.ndim == 1 else rows
    weight = _checked_weight(data_weight, rows.shape)
    rows = np.where(weight > 0, rows, 0.0)
    _check_finite(rows)
    extras = Extras() if extras is None else extras
    geometry = _with_strength(Geometry(graph, order, boundary), extras)
    unobserved = _unobserved(weight, geometry)
    instance = Instance(
        np.ascontiguousarray(rows),
        np.where(unobserved, 1.0, weight),
        geometry,
        lambda1=lambda1,
        lambda2=lambda2,
        norm=penalty.name,
        unobserved=unobserved,
        channel_strength=_channel_strength(extras, rows.shape[1]),
    )
    return with_terms(instance, extras)


def _channel_strength(extras: Extras, channels: int) -> Array | None:
    """The checked strengths of the channels, if they are given."""
    if extras.channel_strength is None:
        return None
    return checked_strength("channel_strength", extras.channel_strength, channels)


def _with_strength(geometry: Geometry, extras: Extras) -> Geometry:
    """The geometry with the strengths of its rows, if they are given."""
    if extras.row_strength is None:
        return geometry
    own = checked_strength("row_strength", extras.row_strength, geometry.num_rows)
    return replace(geometry, row_strength=own)


def with_terms(instance: Instance, extras: Extras) -> Instance:
    """The instance with its loss, lasso and bounds, if it has any beside the squared loss."""
    terms = node_terms(extras, instance.x.shape, instance.unobserved)
    if terms is None:
        return instance
    seen = ~instance.is_missing & ~instance.unobserved
    terms.loss.check(instance.x[seen])
    own = replace(instance, x=np.where(seen, instance.x, terms.loss.neutral), terms=terms)
    _check_minimiser(own, seen)
    return own


def with_squared_terms(instance: Instance) -> Instance:
    """The same problem with its squared loss spelled out."""
    if instance.terms is not None:
        return instance
    ends = np.full_like(instance.x, np.inf)
    return replace(instance, terms=NodeTerms(Squared(), 0.0, -ends, ends))


def _check_minimiser(instance: Instance, seen: NDArray[np.bool_]) -> None:
    """Refuses a component whose fitted values would run away for ever."""
    assert instance.terms is not None
    terms, labels = instance.terms, instance.geometry.component
    if terms.loss.power > 0 or terms.sparsity > 0:
        return
    down, up = terms.loss.sublevel(instance.x, np.ones_like(instance.x))
    for ends, word in ((np.fmax(down, terms.lower), "below"), (np.fmin(up, terms.upper), "above")):
        held = np.isfinite(ends) & (seen | np.isfinite(terms.lower) | np.isfinite(terms.upper))
        for k in range(held.shape[1]):
            loose = np.bincount(labels, held[:, k], labels.max(initial=-1) + 1) == 0
            bad = np.flatnonzero(loose[labels] & ~instance.unobserved[:, k])
            if len(bad):
                raise ValueError(
                    f"x must bound the answer from {word} in every component for loss "
                    f"{terms.loss.name!r} (else give lower and upper), got only "
                    f"{instance.x[bad, k][seen[bad, k]][0]} in the component of node {bad[0]}"
                )


def check_graph(graph: object) -> None:
    """Refuses what is not a Graph, with the way to make one."""
    if isinstance(graph, Graph):
        return
    kind = type(graph).__name__
    way = "Graph.from_scipy(graph)" if hasattr(graph, "tocsr") else "Graph.from_edge_index, …"
    raise ValueError(f"graph must be an elasticgnn.Graph (see {way}), got {kind}")


def strength(name: str, value: float | Tensor) -> float:
    """A strength as a plain finite number."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError(
            f"{name} must be one number for the solver, got {value.numel()} of them; "
            "row_strength has one per edge, channel_strength one per channel"
        )
    number = float(value.detach()) if isinstance(value, Tensor) else float(value)
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite for the solver, got {number}")
    return number


def _check_signal(x: Tensor, graph: Graph) -> None:
    if not isinstance(x, Tensor) or x.ndim not in (1, 2) or len(x) != graph.num_nodes:
        shape = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x must be a tensor ({graph.num_nodes},) or (n, d), got {shape}")
    if x.ndim == 2 and not x.shape[1]:
        raise ValueError(f"x must have a channel, got shape {tuple(x.shape)}")
    if not x.is_floating_point():
        raise ValueError(f"x must be a float tensor, got {x.dtype}")


def _check_finite(rows: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(rows).all(1))
    if len(bad):
        raise ValueError(
            f"x must be finite where data_weight > 0, got {rows[bad[0]]} at node {bad[0]}"
        )


def _checked_weight(data_weight: Tensor | None, shape: tuple[int, ...]) -> Array:
    if data_weight is None:
        return np.ones(shape)
    if tuple(data_weight.shape) not in {(shape[0],), shape}:
        raise ValueError(
            f"data_weight must have shape ({shape[0]},) or {shape}, got {tuple(data_weight.shape)}"
        )
    weight = data_weight.detach().double().cpu().numpy()
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        bad = weight[~(np.isfinite(weight) & (weight >= 0))][0]
        raise ValueError(f"data_weight must be finite and >= 0, got {bad}")
    weight = weight[:, None] if weight.ndim == 1 else weight
    return np.ascontiguousarray(np.broadcast_to(weight, shape))


def _unobserved(weight: Array, geometry: Geometry) -> NDArray[np.bool_]:
    """(n, d): channels of whole components without any value."""
    if (weight > 0).all():
        return np.zeros(weight.shape, dtype=bool)
    labels = geometry.component
    seen = [np.bincount(labels, column > 0) > 0 for column in weight.T]
    return ~np.stack(seen, 1)[labels]
