"""The table of routes through elastic message passing, and the choice among them."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from elasticgnn.operator import distributed, general, packed, plain, population, wide
from elasticgnn.operator.request import Request
from elasticgnn.operator.triton import route as triton


@dataclass(frozen=True)
class Route:
    """One way to serve a request, unless it refuses it in words."""

    name: str
    refusal: Callable[[Request], str | None]
    run: Callable[[Request], Tensor]


# In order of preference; of graphs in one process the last refuses only implementation="fused".
ROUTES = (
    Route("distributed", distributed.refusal, distributed.run),
    Route("population", population.refusal, population.run),
    Route("packed", packed.refusal, packed.run),
    Route("wide", wide.refusal, wide.run),
    Route("general", general.refusal, general.run),
    Route("triton", triton.refusal, triton.run),
    Route("plain", plain.refusal, plain.run),
)


@dataclass(frozen=True)
class RouteReport:
    """Which route a call takes, and why each one before it refused.

    >>> from elasticgnn.operator import explain_route
    >>> report = explain_route(x, chain, ElasticPenalty(0.1, 0.0), implementation="reference")
    >>> report.taken
    'plain'
    """

    taken: str
    refusals: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = [f"{name}: {reason}" for name, reason in self.refusals]
        return "\n".join([f"takes the route {self.taken!r}", *lines])


def choose(request: Request) -> Route:
    """The first route that serves the request."""
    for route in ROUTES:
        if route.refusal(request) is None:
            return route
    if request.parts is not None:
        reason = distributed.refusal(request)
        raise ValueError(f"graph must be in one process for this call, got parts of it ({reason})")
    reasons = "; ".join(f"{route.name}: {route.refusal(request)}" for route in ROUTES)
    raise ValueError(f"implementation must be 'auto' or 'reference' here, got 'fused' ({reasons})")


def report(request: Request) -> RouteReport:
    """The same choice, with its reasons."""
    taken = choose(request).name
    before = ROUTES[: [route.name for route in ROUTES].index(taken)]
    return RouteReport(taken, tuple((r.name, str(r.refusal(request))) for r in before))
