"""The settings of the elastic penalty, checked when built."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph.once import all_numbers, is_compiling
from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.penalties.registry import penalty_by_name


@dataclass(frozen=True)
class ElasticPenalty:
    """rho(delta_e) + lambda2/2 |delta_e|^2 per edge; `norm` chooses rho, lambda1 is its strength.

    `norm` is the name of a penalty in elasticgnn.problem.PENALTIES, or your own `EdgePenalty`.
    "l21" takes the Euclidean norm of an edge's row, "l1" the sum of absolute entries. "mcp" and
    "scad" act on the Euclidean norm too but level off: differences beyond `concavity` * lambda1
    cost no more (firm thresholding), at the price of a non-convex problem.
    lambda1 and lambda2 are numbers, or tensors with one entry or one per run of a population.

    >>> ElasticPenalty(lambda1=3.0, lambda2=0.0, norm="l1")
    ElasticPenalty(lambda1=3.0, lambda2=0.0, norm='l1', concavity=None)
    >>> ElasticPenalty(norm="mcp").is_convex
    False
    >>> ElasticPenalty(lambda1=-1.0)
    Traceback (most recent call last):
    ValueError: lambda1 must be a number >= 0, got -1.0
    """

    lambda1: float | Tensor = 3.0
    lambda2: float | Tensor = 3.0
    norm: str | EdgePenalty = "l21"
    concavity: float | None = None

    def __post_init__(self) -> None:
        default = self.edge_penalty.default_concavity  # unknown names are refused here
        _check_strength("lambda1", self.lambda1, allow_infinity=False)
        _check_strength("lambda2", self.lambda2, allow_infinity=True)
        if self.concavity is None:
            object.__setattr__(self, "concavity", default)
        elif default is None:
            raise ValueError(f"concavity must be None for norm {self.name!r}, got {self.concavity}")
        elif not (math.isfinite(self.concavity) and self.concavity > 0):
            raise ValueError(f"concavity must be a number > 0, got {self.concavity}")

    @property
    def edge_penalty(self) -> EdgePenalty:
        """rho, the part that lambda1 is the strength of."""
        if isinstance(self.norm, EdgePenalty):
            return self.norm
        return penalty_by_name(self.norm, self.concavity)

    @property
    def name(self) -> str:
        """The name of the norm."""
        return self.norm.name if isinstance(self.norm, EdgePenalty) else self.norm

    @property
    def is_convex(self) -> bool:
        """Whether the objective has one minimum, which a certificate needs."""
        return self.edge_penalty.is_convex

    @property
    def strengths(self) -> tuple[float, float]:
        """lambda1 and lambda2 as plain numbers; a population has no single ones."""
        return _number("lambda1", self.lambda1), _number("lambda2", self.lambda2)


def _number(name: str, value: float | Tensor) -> float:
    if not isinstance(value, Tensor):
        return float(value)
    if value.numel() != 1:
        raise ValueError(f"{name} must be one number here, got {value.numel()}")
    return float(value.detach())


def _check_strength(name: str, value: float | Tensor, *, allow_infinity: bool) -> None:
    rule = "a number >= 0" + (" or inf" if allow_infinity else "")
    if isinstance(value, Tensor):
        if value.ndim > 1 or not value.is_floating_point():
            shape = tuple(value.shape)
            raise ValueError(f"{name} must be a float scalar or vector, got {value.dtype} {shape}")
        numbers = all_numbers(value)
        good = (numbers >= 0) & (torch.isfinite(numbers) | allow_infinity)
        if not is_compiling() and not bool(good.all()):
            raise ValueError(f"{name} must be {rule}, got {numbers[~good].flatten()[0].item()}")
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be {rule}, got {value!r}")
    elif not value >= 0 or (value == math.inf and not allow_infinity):
        raise ValueError(f"{name} must be {rule}, got {value}")
