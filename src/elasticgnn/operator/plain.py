"""The route in plain torch, on any device: few operations, or the definition."""

from torch import Tensor

from elasticgnn.graph.once import is_compiling
from elasticgnn.kernels.transforms import needs_plain_torch
from elasticgnn.operator import plain_autograd, reference
from elasticgnn.operator.plain_nodes import on_nodes_with_edges
from elasticgnn.operator.plain_own import has_tensors_of_its_own
from elasticgnn.operator.request import IN_PARTS, Request, is_recorded
from elasticgnn.operator.second_order import Inputs, Settings
from elasticgnn.operator.shapes import with_runs


def refusal(request: Request) -> str | None:
    """Only implementation="fused" and graphs in parts are refused."""
    if request.parts is not None:
        return IN_PARTS
    if request.implementation == "fused":
        return "implementation='fused' asks for compiled loops"
    return None


def refusal_of_steps(request: Request) -> str | None:
    """Why the definition itself has to serve the request."""
    if request.implementation == "reference":
        return "implementation='reference' asks for the definition"
    if is_recorded():
        return "torch.jit.trace records"
    if is_compiling():
        return "torch.compile or make_fx is watching"
    if needs_plain_torch():
        return "torch.vmap, forward-mode differentiation or functionalize is watching"
    if request.steps == 0:
        return "there is nothing to do"
    if request.form is None and has_tensors_of_its_own(request):
        return f"the norm {request.norm!r} is differentiable in tensors of its own"
    return None


def run(request: Request) -> Tensor:
    """x after the steps; differentiable in x, weights and step sizes."""
    x, graph, sizes, strength = request.x, request.graph, request.sizes, request.edge_strength
    if refusal_of_steps(request) is not None:
        options = (request.edge_penalty, request.steps, strength)
        return reference.propagate(with_runs(x), graph, sizes, *options)[0].view(x.shape)
    lambda1 = sizes.lambda1
    if strength is not None:
        lambda1 = lambda1 * strength.to(x.dtype)[:, None]
    inputs = Inputs(with_runs(x), *graph._cast(x.dtype), lambda1, *sizes[1:])
    settings = Settings(graph._tail, graph._head, request.edge_penalty, request.steps)
    if len(x) <= 2 * graph.num_edges:
        return plain_autograd.propagate(inputs, settings).view(x.shape)
    return on_nodes_with_edges(plain_autograd.propagate, inputs, settings).view(x.shape)
