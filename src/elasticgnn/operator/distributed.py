"""The route of a graph that several processes hold, each some of its parts."""

from torch import Tensor

from elasticgnn.operator.request import Request, refusal_of_loops


def refusal(request: Request) -> str | None:
    """Why the processes do not take the steps together."""
    if request.parts is None:
        return "this process holds the whole graph"
    reason = refusal_of_loops(request)
    if reason is not None:
        return reason
    if request.x.ndim != 2 or request.x.shape[1] == 0:
        return "it serves one run with at least one column"
    return None


def run(request: Request) -> Tensor:
    """This process's rows after the steps; once differentiable in x, weights and step sizes."""
    assert request.parts is not None
    return request.parts.propagate(request)
