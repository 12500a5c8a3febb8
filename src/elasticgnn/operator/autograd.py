"""The gradient of x through loops that save as much as they find, as a torch.autograd.Function.

torch.library's operators promise the shapes of what they save beforehand; these loops know them
only when they are done.
"""

from typing import Any, Protocol

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.kernels.transforms import is_many_or_pushed_forward
from elasticgnn.operator.kernel_call import in_memory
from elasticgnn.operator.reference import Incidence, iterate
from elasticgnn.operator.second_order import Inputs, Settings, differentiate_gradients
from elasticgnn.operator.shapes import with_runs
from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.step_sizes import StepSizes


class Route(Protocol):
    """A way through the compiled loops, in both directions; tensors are contiguous."""

    @property
    def steps(self) -> int:
        """Number of steps K."""

    def forward(self, x: Tensor, out: Tensor) -> Any:
        """Fill `out`; returns what the gradient will need."""

    def backward(self, grad: Tensor, grad_x: Tensor, saved: Any) -> None:
        """Fill `grad_x`."""


def propagate_saving(
    x: Tensor, graph: Graph, sizes: StepSizes, route: Route, edge_penalty: EdgePenalty
) -> Tensor:
    """x after the route's steps; differentiable in x, any number of times."""
    weight, scale = graph._cast(x.dtype)
    settings = Settings(graph._tail, graph._head, edge_penalty, route.steps)
    apply: Any = _Propagate.apply  # torch gives it no types
    out: Tensor = apply(x, route, (weight, scale, *sizes), settings)
    return out


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, route: Route, constants: tuple[Tensor, ...], settings: Settings
    ) -> Tensor:
        rows = in_memory(x)
        out = torch.empty_like(rows)
        ctx.route, ctx.saved = route, route.forward(rows, out)
        ctx.constants, ctx.settings = constants, settings
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if is_many_or_pushed_forward(grad):
            (x,) = ctx.saved_tensors
            return _plain_gradient(grad, x, ctx.constants, ctx.settings), None, None, None
        saved = _take_saved(ctx)
        if not torch.is_grad_enabled():  # what torch saved is not even looked at
            return run_backward(grad, ctx.route, saved), None, None, None
        apply: Any = _Adjoint.apply
        rest = (ctx.route, saved, ctx.constants, ctx.settings)
        return apply(grad, *ctx.saved_tensors, *rest), None, None, None


def _take_saved(ctx: Any) -> Any:
    """What the loops saved, which is let go as torch lets go of saved tensors."""
    saved = ctx.saved
    if saved is None:
        raise RuntimeError(
            "the backward pass goes through elastic message passing a second time, and what was "
            "saved for it was freed after the first: ask the first for retain_graph=True"
        )
    if not torch._C._autograd._get_current_graph_task_keep_graph():
        ctx.saved = None
    return saved


class _Adjoint(torch.autograd.Function):
    """The gradient of x as a function of the cotangent and of x."""

    @staticmethod
    def forward(
        ctx: Any,
        grad: Tensor,
        x: Tensor,
        route: Route,
        saved: Any,
        constants: tuple[Tensor, ...],
        settings: Settings,
    ) -> Tensor:
        ctx.constants, ctx.settings = constants, settings
        ctx.save_for_backward(grad, x)
        return run_backward(grad, route, saved)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor | None, ...]:
        grad, x = ctx.saved_tensors
        inputs = Inputs(with_runs(x), *ctx.constants)
        cotangents = (with_runs(cotangent), *(None,) * 6)
        needed = (*ctx.needs_input_grad[:2], *(False,) * 6)
        by_grad, by_x, *_ = differentiate_gradients(
            with_runs(grad), inputs, ctx.settings, cotangents, needed
        )
        shaped = (None if part is None else part.view(x.shape) for part in (by_grad, by_x))
        return *shaped, None, None, None, None


def _plain_gradient(
    grad: Tensor, x: Tensor, constants: tuple[Tensor, ...], settings: Settings
) -> Tensor:
    """The gradient of x in plain torch, which knows what to do with many cotangents at once."""
    weight, scale, *sizes = constants
    incidence = Incidence(settings.tail, settings.head, weight, scale)
    followed = torch.is_grad_enabled()
    with torch.enable_grad():
        x = x if followed else x.detach().requires_grad_()
        steps = (tuple(sizes), settings.edge_penalty, settings.steps)
        out = iterate(with_runs(x), incidence, *steps)[0].view(x.shape)
        return torch.autograd.grad(out, x, grad, create_graph=followed)[0]


def run_backward(grad: Tensor, route: Route, saved: Any) -> Tensor:
    """The gradient of x by the compiled loops."""
    grad = in_memory(grad)
    grad_x = torch.empty_like(grad)
    route.backward(grad, grad_x, saved)
    return grad_x
