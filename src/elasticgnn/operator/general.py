"""The route that serves everything on the CPU, registered with torch: operator/fused_op.py."""

from torch import Tensor

from elasticgnn.operator import fused_op
from elasticgnn.operator.request import Request, refusal_of_kernels
from elasticgnn.operator.shapes import with_runs

refusal = refusal_of_kernels
KEEP = {"none": 0, "x": 1, "all": 2}  # as the registered operator counts what it keeps


def run(request: Request) -> Tensor:
    """x after the steps; differentiable in x, weights and step sizes."""
    x, slots = request.x, request.graph._slots
    keep = KEEP[request.gradients]
    tables = (*request.graph._cast(x.dtype), slots.start, slots.column, slots.edge)
    has_dual = keep == 2 or request.has_dual
    options = (request.norm, request.concavity, request.steps)
    kept = (keep, request.memory, has_dual)
    signal = fused_op.propagate(with_runs(x), *tables, *request.sizes, *options, *kept)[0]
    return signal.view(x.shape)
