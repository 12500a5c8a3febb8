"""The route in plain torch, on any device: few operations, or the definition."""

import torch
from torch import Tensor

from elasticgnn.operator import plain_steps, reference
from elasticgnn.operator.autograd import propagate_saving
from elasticgnn.operator.request import Request
from elasticgnn.operator.shapes import with_runs


def refusal(request: Request) -> str | None:
    """Only implementation="fused" is refused."""
    if request.implementation == "fused":
        return "implementation='fused' asks for compiled loops"
    return None


def run(request: Request) -> Tensor:
    """x after the steps; differentiable in x, weights and step sizes."""
    x, graph, sizes = request.x, request.graph, request.sizes
    if plain_steps.refusal(request) is None:
        return _run_steps(request)
    options = (request.edge_penalty, request.steps, request.edge_strength)
    return reference.propagate(with_runs(x), graph, sizes, *options)[0].view(x.shape)


def _run_steps(request: Request) -> Tensor:
    """The same with few operations and a written-out gradient of x."""
    x, route = request.x, plain_steps.plain_steps(request)
    if request.gradients == "x":
        return propagate_saving(x, request.graph, request.sizes, route, request.edge_penalty)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    route.run(with_runs(x.detach()), with_runs(out), save=False)
    return out
