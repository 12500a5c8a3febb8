"""What a penalty is: all that the rest of the library asks of one."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

Strength = float | Tensor


class Line(NamedTuple):
    """Rows of length r > lambda1 get the length min(lambda1, max(0, start lambda1 - slope r)).

    The other two are the derivatives of start and slope by beta.
    """

    start: Strength
    slope: Strength
    start_beta: Strength
    slope_beta: Strength


class EdgePenalty(ABC):
    """rho(delta), the cost of the difference of one edge's ends; lambda1 is its strength.

    A penalty of your own is a subclass with a `name`, a `value` and a proximal map `prox`; hand an
    instance as `norm` to `ElasticPenalty`, `EMP` or `ElasticGNN`. It takes the plain route, with
    torch's own gradients. Give `curvature` if it is not convex, `conjugate` if it is to be
    certified. Rows are the last dimension; lambda1, step and beta broadcast against rows.

    >>> from elasticgnn.problem import PENALTIES
    >>> PENALTIES["l1"]().value(torch.tensor([[1.0, -2.0]]), 0.5).tolist()
    [1.5]
    """

    name: ClassVar[str]
    words: ClassVar[str] = ""  # what it is, for the command line
    default_concavity: ClassVar[float | None] = None  # None: it has no such parameter
    at_prediction: ClassVar[float | None] = None  # concavity that lets go of most at lambda2 = 0
    entrywise: ClassVar[bool] = False  # whether the entries of a row do not interact
    form: ClassVar[str | None] = None  # of the projection in the compiled loops; None: has no loop

    @abstractmethod
    def value(self, difference: Tensor, lambda1: Strength) -> Tensor:
        """rho of each row (..., d): (...)."""

    @abstractmethod
    def prox(self, point: Tensor, lambda1: Strength, step: Strength) -> Tensor:
        """argmin over delta of rho(delta) + |delta - point|^2 / (2 step), for each row."""

    def project(self, dual: Tensor, lambda1: Strength, beta: Strength) -> Tensor:
        """The dual step's map Z = Zb - beta prox_{rho/beta}(Zb / beta) (Moreau)."""
        return dual - beta * self.prox(dual / beta, lambda1, 1 / beta)

    def conjugate(self, dual: Tensor, lambda1: Strength) -> Tensor:
        """sup over delta of <delta, dual> - rho(delta), for each row: (...)."""
        raise ValueError(
            f"norm must be a penalty with a conjugate for a certificate, got {self.name!r}"
        )

    @property
    def curvature(self) -> float:
        """The least c >= 0 that makes rho + c/2 |.|^2 convex."""
        return 0.0

    @property
    def is_convex(self) -> bool:
        """Whether the curvature is 0."""
        return self.curvature == 0

    def refusal(self, beta: float) -> str | None:
        """Why the dual step `beta` is too short for it: the proximal problem must be convex."""
        if beta > self.curvature:
            return None
        return f"curvature must be < {beta:.6g} (beta) for norm {self.name!r}, got {self.curvature}"

    @property
    def majoriser(self) -> "EdgePenalty":
        """The convex penalty whose tangents lie above it: itself where it is convex."""
        if self.is_convex:
            return self
        raise ValueError(
            f"norm must be convex or have a majoriser for a certificate, got {self.name!r}"
        )

    def tangent(self, difference: Tensor, lambda1: float) -> Tensor:
        """The strength (m, 1) at which `majoriser` touches it at each difference (m, d)."""
        return difference.new_full((len(difference), 1), lambda1)

    def into_domain(self, dual: Tensor, lambda1: Strength) -> Tensor:
        """`dual` moved to where the conjugate is finite; a dual of the iteration is there."""
        return dual

    def dual_norm(self, dual: Tensor) -> Tensor:
        """The size of each dual row (..., d) that lambda1 bounds: (...)."""
        return torch.linalg.vector_norm(dual, dim=-1)

    def line(self, beta: Strength) -> Line:
        """How the projection treats rows outside the ball; the compiled loops read it."""
        return Line(1.0, 0.0, 0.0, 0.0)

    def folded_conjugate(self, dual: Tensor, lambda1: Strength, lambda2: float) -> Tensor:
        """The conjugate of rho + lambda2/2 |.|^2: that of rho, smoothed (Moreau's envelope)."""
        if lambda2 == 0:
            return self.conjugate(dual, lambda1)
        inside = self.project(dual, lambda1, lambda2)
        beyond = (dual - inside).square().sum(-1)
        return self.conjugate(inside, lambda1) + beyond / (2 * lambda2)


class ProjectedPenalty(EdgePenalty):
    """A penalty that is stated by the map of its dual rows; the proximal map follows (Moreau)."""

    @abstractmethod
    def project(self, dual: Tensor, lambda1: Strength, beta: Strength) -> Tensor:
        """The dual step's map of each row."""

    def prox(self, point: Tensor, lambda1: Strength, step: Strength) -> Tensor:
        """point - step * project(point / step), with the dual step 1 / step."""
        return point - step * self.project(point / step, lambda1, 1 / step)

    def conjugate(self, dual: Tensor, lambda1: Strength) -> Tensor:
        """0 inside the ball of lambda1 and inf outside; rounding of a projection is inside."""
        reach = self.dual_norm(dual)
        radius = torch.as_tensor(lambda1, dtype=dual.dtype, device=dual.device)
        radius = radius.squeeze(-1) if radius.ndim else radius
        slack = 8 * torch.finfo(dual.dtype).eps * radius
        return torch.where(reach > radius + slack, torch.inf, torch.zeros_like(reach))

    def into_domain(self, dual: Tensor, lambda1: Strength) -> Tensor:
        """Rows projected onto the ball of lambda1."""
        return self.majoriser.project(dual, lambda1, 1.0)


def active_rows(dual: Tensor, radius: Strength) -> tuple[Tensor, Tensor]:
    """Which rows are longer than `radius`, and their lengths; for the others some number > 0.

    A row of zeros has a length without a second derivative: it must not even be computed. A row
    that holds a NaN is active, so that none of its entries looks as if it were known.
    """
    with torch.no_grad():
        active = ~(torch.linalg.vector_norm(dual, dim=-1, keepdim=True) <= radius)
    return active, torch.linalg.vector_norm(torch.where(active, dual, 1), dim=-1, keepdim=True)


def share_inside(dual: Tensor, radius: Strength) -> Strength:
    """What a row that is not active keeps: all of it, but nothing where the radius is 0.

    There the map is zero everywhere, and at a row of zeros too its derivative is 0, not 1.
    """
    return (radius > 0).to(dual.dtype) if isinstance(radius, Tensor) else float(radius > 0)
