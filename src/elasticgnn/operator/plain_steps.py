"""The steps in plain torch with few operations and a written-out gradient: what a device runs.

operator/reference.py is the definition. Here, as in kernels/emp/problem.h, the state is U = s F,
Z, and Q_i = sum of +-w Z over i's edges. On a device every operation is a launch, and rows of
edges are what fills its memory: the adjoint finds the dual and the factor of every projection.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from elasticgnn.kernels.transforms import is_batched_or_pushed_forward
from elasticgnn.operator.request import Request, is_recorded
from elasticgnn.operator.shapes import with_runs


class Jacobian(NamedTuple):
    """Of a projection: J h = factor (h + along rows <rows, h>)."""

    rows: Tensor | None  # (m, R, d): the dual; None where J is diagonal (l1)
    factor: Tensor  # (m, R, 1), or (m, R, d) of zeros and ones
    along: Tensor | None  # (m, R, 1): -1 / lambda1^2 for active rows, else 0


class PlainSteps(NamedTuple):
    """What does not change from step to step, shaped to multiply rows (., R, d)."""

    tail: Tensor  # (m,)
    head: Tensor
    ends: tuple[Tensor, Tensor]  # (2m,): both directions of every edge, from and to
    weight: Tensor  # (m, 1, 1)
    scale: Tensor  # (n, 1, 1)
    lambda1: Tensor  # (R, 1), as the next four
    radius: Tensor  # lambda1, but > 0
    along: Tensor  # -1 / lambda1^2, or 0
    beta: Tensor
    gamma: Tensor
    own: Tensor  # (n, R, 1): 1 - gamma - smoothing s^2 (sum of the weights), of U
    near: Tensor  # (2m, R, 1): smoothing s^2 w, of a neighbour's U; s is that of the receiver
    far: Tensor  # (2m, R, 1): the same with the sender's
    back: Tensor  # (n, R, 1): -gamma s^2, of Q
    entrywise: bool
    steps: int

    def difference(self, nodes: Tensor) -> Tensor:
        """Row of the tail minus row of the head: (n, R, d) to (m, R, d)."""
        return nodes.index_select(0, self.tail).sub_(nodes.index_select(0, self.head))

    def divergence(self, edges: Tensor) -> Tensor:
        """The adjoint: (m, R, d) to (n, R, d)."""
        total = edges.new_zeros(len(self.scale), *edges.shape[1:])
        return total.index_add_(0, self.tail, edges).index_add_(0, self.head, edges, alpha=-1)

    def spread(self, nodes: Tensor, factor: Tensor, total: Tensor) -> Tensor:
        """`total` with factor times each neighbour's row added to every node, in place."""
        rows = nodes.index_select(0, self.ends[1]).mul_(factor)
        return total.index_add_(0, self.ends[0], rows)

    def project(self, dual: Tensor, save: bool) -> Jacobian | None:
        """Projects the dual in place."""
        if self.entrywise:
            inside = (dual.abs() <= self.lambda1).to(dual.dtype) if save else None
            dual.clamp_(-self.lambda1, self.lambda1)
            return None if inside is None else Jacobian(None, inside, None)
        length = torch.linalg.vector_norm(dual, dim=-1, keepdim=True)
        factor = self.lambda1 / length.clamp_(min=self.radius)
        dual.mul_(factor)
        return Jacobian(dual, factor, (factor < 1) * self.along) if save else None

    def forward(self, x: Tensor, out: Tensor) -> list[Jacobian]:
        """Fills `out` with F after the steps; returns what `backward` needs."""
        return self.run(with_runs(x), with_runs(out), save=True)

    def run(self, x: Tensor, out: Tensor, *, save: bool) -> list[Jacobian]:
        """The same for (n, R, d); nothing is saved unless asked for."""
        signal = self.scale * x
        given, jacobians = self.gamma * signal, []
        dual, total = x.new_zeros(len(self.tail), *x.shape[1:]), torch.zeros_like(x)
        for _ in range(self.steps):
            y = self.spread(signal, self.near, torch.addcmul(given, self.own, signal))
            change = self.difference(torch.addcmul(y, self.back, total))
            dual = torch.addcmul(dual, self.beta, change)
            jacobian = self.project(dual, save)
            total = self.divergence(self.weight * dual)
            signal = y.addcmul_(self.back, total)
            if jacobian is not None:
                jacobians.append(jacobian)
        torch.div(signal, self.scale, out=out)
        return jacobians

    def backward(self, grad: Tensor, grad_x: Tensor, jacobians: list[Jacobian]) -> None:
        """Fills `grad_x` with the gradient of <grad, F>; names with bar are cotangents."""
        grad = with_runs(grad)
        signal_bar = grad / self.scale
        given_bar, ahead_bar = torch.zeros_like(grad), torch.zeros_like(grad)
        dual_bar = grad.new_zeros(len(self.tail), *grad.shape[1:])
        for one in reversed(jacobians):
            total_bar = self.back * (signal_bar + ahead_bar)
            dual_bar.add_(self.difference(total_bar).mul_(self.weight))
            if one.rows is not None and one.along is not None:
                inner = (one.rows * dual_bar).sum(-1, keepdim=True).mul_(one.along)
                dual_bar.addcmul_(one.rows, inner)
            dual_bar.mul_(one.factor)
            ahead_bar = self.divergence(dual_bar).mul_(self.beta)
            y_bar = signal_bar + ahead_bar
            given_bar.add_(y_bar)
            signal_bar = self.spread(y_bar, self.far, self.own * y_bar)
        inside = given_bar.mul_(self.gamma).add_(signal_bar)
        torch.mul(inside, self.scale, out=with_runs(grad_x))


def refusal(request: Request) -> str | None:
    """Why the definition itself has to serve the request."""
    if request.implementation == "reference":
        return "implementation='reference' asks for the definition"
    if request.gradients == "all":
        return "gradients of weights or strengths are wanted"
    if request.edge_strength is not None or is_recorded():
        return "a strength per edge is asked for, or torch.jit.trace records"
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return "torch.compile or torch.func is watching"
    if is_batched_or_pushed_forward():
        return "forward-mode differentiation is watching"
    served = request.edge_penalty.form in ("ball", "box")
    return None if served else f"it serves l21 and l1, got {request.edge_penalty.name}"


def plain_steps(request: Request) -> PlainSteps:
    """The tables of a request."""
    graph, sizes = request.graph, request.sizes
    weight, scale = (table.detach()[:, None, None] for table in graph._cast(request.x.dtype))
    lambda1, gamma, beta, smoothing = (size.detach()[:, None] for size in sizes)
    ends = (torch.cat([graph._tail, graph._head]), torch.cat([graph._head, graph._tail]))
    both, square = torch.cat([weight, weight]), scale * scale
    scaled_smoothing = smoothing * square
    total = torch.zeros_like(scale).index_add_(0, ends[0], both)
    inverse = torch.where(lambda1 > 0, -1 / (lambda1 * lambda1), 0)
    return PlainSteps(
        tail=graph._tail,
        head=graph._head,
        ends=ends,
        weight=weight,
        scale=scale,
        lambda1=lambda1,
        radius=lambda1.clamp(min=torch.finfo(lambda1.dtype).tiny),
        along=inverse,
        beta=beta,
        gamma=gamma,
        own=1 - gamma - scaled_smoothing * total,
        near=scaled_smoothing.index_select(0, ends[0]) * both,
        far=scaled_smoothing.index_select(0, ends[1]) * both,
        back=-gamma * square,
        entrywise=request.edge_penalty.entrywise,
        steps=request.steps,
    )
