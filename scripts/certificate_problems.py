"""Random denoising problems for scripts/verify_certificate.py, and what others say of them."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from numpy.random import Generator

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Extras, Huber, Loss, Quantile, Solution, minimise, minimise_path
from elasticgnn.solver.losses import as_loss
from elasticgnn.solver.problem.instance import Instance, build_instance, with_squared_terms
from elasticgnn.solver.problem.node_terms import NodeTerms

PATH = (0.5, 0.7, 0.9, 1.0, 1.1, 1.6, 2.5)  # times lambda1, with --paths


@dataclass(frozen=True)
class Problem:
    """One random denoising problem."""

    x: torch.Tensor
    graph: Graph
    penalty: ElasticPenalty
    data_weight: torch.Tensor | None
    order: int
    boundary: str = "graph"
    extras: Extras = field(default_factory=Extras)

    @cached_property
    def instance(self) -> Instance:
        options = (self.data_weight, self.order, self.boundary, self.extras)
        return build_instance(self.x, self.graph, self.penalty, *options)

    @cached_property
    def terms(self) -> NodeTerms:
        """The loss, lasso and bounds, also where they are the squares alone."""
        terms = with_squared_terms(self.instance).terms
        assert terms is not None
        return terms

    def solve(self, rtol: float, max_steps: int | None, method: str = "auto") -> Solution:
        return minimise(
            self.x,
            self.graph,
            self.penalty,
            data_weight=self.data_weight,
            order=self.order,
            boundary=self.boundary,
            rtol=rtol,
            max_steps=max_steps,
            method=method,
            **self.extras.options,
        )

    def solve_on_path(self, rtol: float) -> Solution:
        """The solution as the fourth of seven on a path."""
        lambda1 = float(self.penalty.lambda1)
        path = minimise_path(
            self.x,
            self.graph,
            [lambda1 * ratio for ratio in PATH],
            lambda2=float(self.penalty.lambda2),
            norm=self.penalty.norm,
            data_weight=self.data_weight,
            order=self.order,
            boundary=self.boundary,
            rtol=rtol,
            extras=self.extras,
        )
        return path.solutions[PATH.index(1.0)]

    def __str__(self) -> str:
        missing = 0 if self.data_weight is None else int((self.data_weight == 0).sum())
        return (
            f"{self.graph}, d={self.x.shape[1]}, {self.penalty}, order={self.order} "
            f"{self.boundary}, {missing} missing, scale {float(self.x.abs().max()):.0e}, "
            f"{self.extras}"
        )


def random_problem(rng: Generator) -> Problem:
    """A problem of 1 to 30 nodes: norms, weights, normalisations, orders, gaps, units, offsets."""
    nodes = int(rng.integers(1, 31)) if rng.random() < 0.5 else int(rng.integers(1, 11))
    shape, order = rng.choice(["any", "any", "tree", "chain"]), int(rng.integers(3))
    graph = _random_graph(rng, nodes, str(shape))
    free = shape == "chain" and graph.normalization == "none" and rng.random() < 0.5
    scale = 10.0 ** rng.uniform(-3, 3) if rng.random() < 0.7 else 10.0 ** rng.uniform(-150, 150)
    offset = 0.0 if rng.random() < 0.4 else 10.0 ** rng.uniform(0, 12)
    channels = int(rng.integers(1, 4))
    x = torch.from_numpy(scale * (rng.normal(size=(nodes, channels)) + offset))
    strengths = scale * rng.exponential(rng.choice([1e-5, 0.05, 0.5, 5.0])), rng.exponential(1.0)
    lambda1, lambda2 = (float(s) if rng.random() < 0.75 else 0.0 for s in strengths)
    penalty = ElasticPenalty(lambda1, lambda2, str(rng.choice(["l1", "l21"])))
    weight = _random_data_weight(rng, graph, channels)
    problem = Problem(x, graph, penalty, weight, order, "free" if free else "graph")
    return with_loss(rng, problem, scale) if rng.random() < 0.4 else problem


def with_loss(rng: Generator, problem: Problem, scale: float) -> Problem:
    """The problem with another loss and some of bounds, lasso and strengths of its own.

    Labels and counts have no unit, their weights no gaps in whole components, and their free
    trends have bounds: else there may be no minimiser.
    """
    kind = str(rng.choice(["squared", "huber", "quantile", "logistic", "poisson"]))
    shape, x, penalty = tuple(problem.x.shape), problem.x, problem.penalty
    loss: Loss = {"huber": Huber(scale * rng.exponential()), "quantile": Quantile(0.3)}.get(
        kind, as_loss("squared")
    )
    if kind in ("logistic", "poisson"):
        loss, scale = as_loss(kind), 1.0
        drawn = rng.random(shape) < 0.5 if kind == "logistic" else rng.poisson(2.0, shape)
        x = torch.from_numpy(drawn.astype(np.float64))
        penalty = ElasticPenalty(float(rng.exponential(0.5)), penalty.lambda2, penalty.norm)
    if kind == "quantile":  # its slopes have no unit
        strengths = float(penalty.lambda1) / scale, float(penalty.lambda2) / scale
        penalty = ElasticPenalty(*strengths, penalty.norm)
    middle = float(x.mean()) if kind not in ("logistic", "poisson") else 0.0
    bounded = kind in ("logistic", "poisson") or rng.random() < 0.3
    chosen, slope = rng.random(3), 1.0 if kind == "quantile" else scale
    extras = Extras(
        loss,
        middle - 3 * scale if bounded else None,
        middle + 3 * scale if bounded else None,
        float(rng.exponential(0.1)) * slope if chosen[0] < 0.3 else 0.0,
        _strengths(rng, problem.instance.num_rows) if chosen[1] < 0.3 else None,
        _strengths(rng, shape[1]) if chosen[2] < 0.3 else None,
    )
    return replace(problem, x=x, penalty=penalty, extras=extras)


def _strengths(rng: Generator, count: int) -> torch.Tensor:
    return torch.from_numpy(0.1 + rng.exponential(size=count))


def _random_graph(rng: Generator, nodes: int, shape: str) -> Graph:
    """Any graph, a random tree or a chain, with weights of 1, near 1, or from 1e-6 to 1e6."""
    if shape == "any":
        pairs = np.argwhere(np.triu(rng.random((nodes, nodes)) < rng.uniform(0.05, 0.9), 1))
    elif shape == "tree":
        pairs = np.array([(rng.integers(i), i) for i in range(1, nodes)], dtype=np.int64)
        pairs = pairs.reshape(-1, 2)
    else:
        pairs = np.stack([np.arange(nodes - 1), np.arange(1, nodes)], 1)
    weight, kind = None, rng.random()
    if kind < 0.4:
        weight = rng.exponential(1.0, len(pairs))
    elif kind < 0.6:
        weight = 10.0 ** rng.uniform(-6.0, 6.0, len(pairs))
    if weight is not None and len(pairs) and rng.random() < 0.2 and shape != "chain":
        weight[int(rng.integers(len(pairs)))] = 0.0
    return Graph.from_edge_index(
        torch.from_numpy(pairs.T.copy()),
        nodes,
        None if weight is None else torch.from_numpy(weight),
        undirected=True,
        normalization=str(rng.choice(["degree", "none"])),
    )


def _random_data_weight(rng: Generator, graph: Graph, channels: int) -> torch.Tensor | None:
    """None, positive weights, weights with zeros per node, or with zeros per entry."""
    kind = rng.random()
    if kind < 0.4:
        return None
    weight = rng.exponential(1.0, graph.num_nodes) + 0.01
    if kind < 0.6:
        return torch.from_numpy(weight)
    if kind > 0.8:
        weight = np.repeat(weight[:, None], channels, 1)
    weight[rng.random(weight.shape) < 0.3] = 0.0
    return torch.from_numpy(weight)


def objective(problem: Problem, signal: np.ndarray, digits: int = 0) -> float:
    """P of any signal, by the definition, in extended precision; its penalty in `digits` if given.

    With weights over twelve decades extended precision can lie below P by more than a gap.
    """
    instance, terms = problem.instance, problem.terms
    exact = np.longdouble
    rows = np.clip(signal, terms.lower, terms.upper).astype(exact)
    value = (instance.data_weight.astype(exact) * terms.loss.value(rows, instance.x)).sum()
    value += terms.sparsity * np.abs(rows).sum()
    return float(
        value + (_penalty_to(problem, rows, digits) if digits else _penalty(problem, rows))
    )


def _penalty(problem: Problem, rows: np.ndarray) -> float:
    instance = problem.instance
    factor, omega = (np.asarray(a, dtype=rows.dtype) for a in _factors(instance))
    delta = differences(problem, rows) * factor
    length = np.abs(delta) if instance.norm == "l1" else np.sqrt((delta**2).sum(1, keepdims=True))
    return (omega * (instance.lambda1 * length)).sum() + instance.lambda2 / 2 * (
        omega * delta**2
    ).sum()


def _factors(instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(instance.channel_factor), instance.row_weight[:, None]


def _penalty_to(problem: Problem, rows: np.ndarray, digits: int) -> float:
    """The same in so many decimal digits."""
    import mpmath

    wide = np.vectorize(mpmath.mpf, otypes=[object])
    with mpmath.workdps(digits):
        factor, omega = (wide(a) for a in _factors(problem.instance))
        delta = differences(problem, wide(rows.astype(np.float64))) * factor
        total = mpmath.mpf(0)
        for weight, row in zip(omega[:, 0], delta, strict=True):
            square = mpmath.fsum(entry**2 for entry in row)
            l1 = problem.instance.norm == "l1"
            length = mpmath.fsum(map(abs, row)) if l1 else mpmath.sqrt(square)
            strengths = problem.instance.lambda1 * length + problem.instance.lambda2 / 2 * square
            total += weight * strengths
        return np.longdouble(mpmath.nstr(total, 25))


def differences(problem: Problem, rows: np.ndarray) -> np.ndarray:
    """K F from the graph's own numbers, so that a constant has no trend whatever the weights."""
    if problem.boundary == "free":
        return np.dot(problem.instance.operator.toarray().astype(rows.dtype), rows)
    graph = problem.graph
    tail, head, weight = graph.tail.numpy(), graph.head.numpy(), graph.weight.numpy()[:, None]
    convert = np.vectorize(type(rows.flat[0]), otypes=[rows.dtype])
    scale = convert(graph.scale.numpy())[:, None]

    def along_edges(values: np.ndarray) -> np.ndarray:
        # s_i F_i - s_j F_j, such that an offset of 1e12 cancels where the scales are equal
        apart = (scale[tail] - scale[head]) * values[head]
        return scale[tail] * (values[tail] - values[head]) + apart

    if problem.order == 0:
        return along_edges(rows)
    flow = weight * along_edges(rows)
    laplacian = np.zeros_like(rows)
    np.add.at(laplacian, tail, scale[tail] * flow)
    np.subtract.at(laplacian, head, scale[head] * flow)
    return laplacian if problem.order == 1 else along_edges(laplacian)


def outside_signal(problem: Problem) -> np.ndarray | None:
    """The minimiser according to cvxpy with Clarabel; None where it gives up."""
    import cvxpy as cp

    instance, terms = problem.instance, problem.terms
    x, signal = instance.x, cp.Variable(instance.x.shape)
    off, level = signal - x, getattr(terms.loss, "level", 0.5)
    per_entry = {
        "squared": lambda: cp.square(off) / 2,
        "huber": lambda: cp.huber(off, getattr(terms.loss, "threshold", 1.0)) / 2,
        "quantile": lambda: cp.maximum(-level * off, (1 - level) * off),
        "logistic": lambda: cp.logistic(signal) - cp.multiply(x, signal),
        "poisson": lambda: cp.exp(signal) - cp.multiply(x, signal),
    }[terms.loss.name]()
    loss = cp.sum(cp.multiply(instance.data_weight, per_entry))
    loss += terms.sparsity * cp.sum(cp.abs(signal))
    limits = []
    for ends, sign in ((terms.lower, 1), (terms.upper, -1)):
        if (here := np.isfinite(ends)).any():
            limits.append(sign * signal[here] >= sign * ends[here])
    if instance.num_rows:
        factor = np.ones((instance.num_rows, 1)) * np.ones(x.shape[1]) * instance.channel_factor
        delta = cp.multiply(factor, instance.operator @ signal)
        size = cp.norm(delta, 1 if instance.norm == "l1" else 2, axis=1)
        root = np.sqrt(instance.row_weight)[:, None] * np.ones((1, x.shape[1]))
        loss += instance.lambda1 * (instance.row_weight @ size)
        loss += instance.lambda2 / 2 * cp.sum_squares(cp.multiply(root, delta))
    try:
        cp.Problem(cp.Minimize(loss), limits).solve(solver="CLARABEL")
    except cp.error.SolverError:
        return None
    return None if signal.value is None else np.asarray(signal.value).reshape(x.shape)
