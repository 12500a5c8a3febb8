"""The route that serves everything on the CPU, registered with torch: operator/fused_op.py."""

from torch import Tensor

from elasticgnn.operator import fused_op
from elasticgnn.operator.request import Request, refusal_of_kernels

refusal = refusal_of_kernels


def run(request: Request) -> Tensor:
    """x after the steps; differentiable in x, weights and step sizes."""
    return fused_op.propagate_request(request, request.gradients == "all" or request.has_dual)
