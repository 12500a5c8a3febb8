"""Step sizes of the elastic iteration, and the bounds of the paper's Theorem 1."""

import functools
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.once import all_numbers, is_compiling, is_traced, lasting
from elasticgnn.problem.penalty import ElasticPenalty


class _Tensors(NamedTuple):
    lambda1: Tensor
    gamma: Tensor  # primal step
    beta: Tensor  # dual step
    smoothing: Tensor  # gamma * lambda2, finite also for lambda2 = inf


class StepSizes(_Tensors):
    """One number per run, each of shape (R,)."""

    @functools.cached_property
    def numbers(self) -> list[tuple[float, ...]]:
        """The four of each run, as they were at the first look."""
        return list(zip(*[size.tolist() for size in self], strict=True))


def step_sizes(
    penalty: ElasticPenalty,
    norm_bound: float,
    like: Tensor,
    runs: int = 1,
    *,
    gamma: float | None = None,
    beta: float | None = None,
) -> StepSizes:
    """The paper's step sizes, or the given ones after a check; differentiable in the lambdas.

    With B >= ||L||: gamma = 1/(1 + lambda2 B/2) and beta = 1/(gamma B); B = 2 for degree
    normalisation, where this is gamma = 1/(1 + lambda2), beta = 1/(2 gamma).
    """
    plain = not (isinstance(penalty.lambda1, Tensor) or isinstance(penalty.lambda2, Tensor))
    if plain and penalty.is_convex and gamma is None and beta is None:
        strengths = float(penalty.lambda1), float(penalty.lambda2)
        make = _plain_sizes if is_traced() else _remembered_sizes
        return make(*strengths, norm_bound, like.dtype, like.device, runs)
    lambda1 = _per_run("lambda1", penalty.lambda1, like, runs)
    lambda2 = _per_run("lambda2", penalty.lambda2, like, runs)
    if gamma is None:
        primal = 1 / (1 + lambda2 * (norm_bound / 2))
        smoothing = (1 - primal) * (2 / norm_bound)
    else:
        _check_gamma(gamma, lambda2, norm_bound)
        primal = torch.full_like(lambda2, gamma)
        smoothing = primal * lambda2
    if beta is None:
        # gamma = 0 (lambda2 = inf): the dual has no effect, any finite step will do
        dual_step = 1 / (norm_bound * torch.where(primal > 0, primal, torch.ones_like(primal)))
    else:
        _check_beta(beta, primal, norm_bound)
        dual_step = torch.full_like(primal, beta)
    _check_curvature(penalty, dual_step)
    return StepSizes(lambda1, primal, dual_step, smoothing)


def _plain_sizes(
    lambda1: float,
    lambda2: float,
    norm_bound: float,
    dtype: torch.dtype,
    device: torch.device,
    runs: int,
) -> StepSizes:
    """The same for plain numbers, without a dozen small tensor operations."""
    primal = 1 / (1 + lambda2 * (norm_bound / 2))
    dual_step = 1 / (norm_bound * (primal if primal > 0 else 1.0))
    numbers = (lambda1, primal, dual_step, (1 - primal) * (2 / norm_bound))
    table = torch.tensor(numbers, dtype=dtype, device=device)
    return StepSizes(*table[:, None].expand(4, runs).contiguous().unbind(0))


@functools.lru_cache(maxsize=64)
def _remembered_sizes(*arguments: Any) -> StepSizes:
    """Training calls with the same numbers again and again, on small graphs for microseconds."""
    with lasting():
        return _plain_sizes(*arguments)


def _per_run(name: str, value: float | Tensor, like: Tensor, runs: int) -> Tensor:
    if not isinstance(value, Tensor):
        return torch.full((runs,), float(value), dtype=like.dtype, device=like.device)
    if value.numel() not in (1, runs):
        raise ValueError(f"{name} must have one entry or one per run ({runs}), got {value.numel()}")
    return value.to(like).reshape(-1).expand(runs)


def _check_gamma(gamma: float, lambda2: Tensor, norm_bound: float) -> None:
    limit = 2 / (1 + float(all_numbers(lambda2).max()) * norm_bound) if len(lambda2) else 2.0
    if not 0 < gamma < limit:
        raise ValueError(
            f"gamma must lie in (0, {limit:.6g}) = (0, 2/(1 + lambda2 ||L||)), got {gamma}"
        )


def _check_beta(beta: float, gamma: Tensor, norm_bound: float) -> None:
    limit = 4 / (3 * float(all_numbers(gamma).max()) * norm_bound) if len(gamma) else 1.0
    # a beta computed by the caller's own formula may sit on the bound up to rounding
    if not 0 < beta <= limit * (1 + 1e-12):
        raise ValueError(f"beta must lie in (0, {limit:.6g}] = (0, 4/(3 gamma ||L||)], got {beta}")


def _check_curvature(penalty: ElasticPenalty, beta: Tensor) -> None:
    if penalty.is_convex or is_compiling():
        return
    shortest = float(all_numbers(beta).min()) if len(beta) else math.inf
    reason = penalty.edge_penalty.refusal(shortest)
    if reason is not None:
        raise ValueError(reason)
