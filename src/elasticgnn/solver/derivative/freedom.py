"""Degrees of freedom of a solution: the trace of the derivative of F in X."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.derivative.adjoint import Adjoint, split_rows
from elasticgnn.solver.problem.instance import Instance, build_instance

if TYPE_CHECKING:
    from elasticgnn.solver.solution import Solution

PROBES = 4
PROBE_LIMIT = 20_000


@np.errstate(all="ignore")
def degrees_of_freedom(  # a solved problem and a source of probes
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    solution: "Solution",
    data_weight: Tensor,
    generator: torch.Generator,
) -> float:
    """The trace of dF/dX: the pieces where that is exact, else estimated with random probes.

    Beyond PROBE_LIMIT values an upper end stands in: the pieces times the channels, or for trends
    the values minus the differences that are zero.

    >>> from elasticgnn.solver import degrees_of_freedom, minimise
    >>> penalty, weight = ElasticPenalty(0.3, 0.0), torch.ones(4, 1, dtype=torch.float64)
    >>> solution = minimise(x, chain, penalty)
    >>> degrees_of_freedom(x, chain, penalty, solution, weight, generator)
    2.0
    """
    trend = (solution.order, solution.boundary_rule)
    instance = build_instance(x, graph, penalty, data_weight, *trend)
    return freedom_of(instance, solution, generator)


def freedom_of(
    instance: Instance, solution: "Solution", generator: torch.Generator | None = None
) -> float:
    """The same of a solved problem; random probes need a generator."""
    if instance.terms is not None or instance.channel_strength is not None:
        raise ValueError(
            "loss must be 'squared', without bounds, lasso or strengths per channel, for degrees "
            "of freedom"
        )
    if instance.lambda1 == instance.lambda2 == 0:  # F is X, equal neighbours or not
        return float((~(instance.is_missing | instance.unobserved)).sum())
    if instance.entrywise and instance.lambda2 == 0 and instance.is_plain:
        return float(sum(_count(instance, solution, k) for k in range(instance.x.shape[1])))
    if instance.x.size > PROBE_LIMIT:
        return _upper_end(instance, solution)
    if generator is None:
        raise ValueError("generator must be given where degrees of freedom are estimated, got None")
    signal = np.nan_to_num(solution.value.detach().numpy().reshape(instance.x.shape))
    adjoint = Adjoint(instance, split_rows(instance, signal, 1e-6))
    shape = (PROBES, *instance.x.shape)
    probes = torch.randint(2, shape, generator=generator).double().numpy() * 2 - 1
    # only what was given can be varied
    probes = np.where(instance.is_missing | instance.unobserved, 0.0, probes)
    traces = [(p * instance.data_weight * adjoint.solve(p)[0]).sum() for p in probes]
    return float(np.mean(traces))


def _upper_end(instance: Instance, solution: "Solution") -> float:
    if instance.is_plain:
        return float(instance.x.shape[1] * _count(instance, solution, None))
    signal = np.nan_to_num(solution.value.detach().numpy().reshape(instance.x.shape))
    free = split_rows(instance, signal, 1e-6).free
    given = int((~instance.unobserved).sum())
    return float(max(given - int(free.sum()), 1))


def _count(instance: Instance, solution: "Solution", channel: int | None) -> int:
    """Pieces with a value that could be varied: one between gaps follows its neighbours."""
    seen = ~(instance.is_missing | instance.unobserved)
    here = seen.any(1) if channel is None else seen[:, channel]
    return len(np.unique(solution.pieces(channel=channel).numpy()[here]))
