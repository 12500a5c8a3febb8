"""The route of tensors on a GPU: Triton kernels behind the operator of the CPU's loops."""

from functools import cache
from importlib.util import find_spec

from torch import Tensor

from elasticgnn.extras import optional_imports
from elasticgnn.kernels.transforms import is_functionalized, is_pushed_forward
from elasticgnn.operator import fused_op
from elasticgnn.operator.request import IN_PARTS, Request, is_recorded
from elasticgnn.operator.triton.tables import WIDEST

DEVICES = ("cuda",)  # torch calls AMD's devices so too
OLDEST = (3, 3)  # Triton: older ones cannot hand a tuple from function to function


def refusal(request: Request) -> str | None:
    """Why no kernel of a GPU serves the request, if none does."""
    if request.parts is not None:
        return IN_PARTS
    if request.x.device.type not in DEVICES:
        return f"the kernels of GPUs need x on one, it is on {request.x.device}"
    if request.implementation == "reference":
        return "implementation='reference' asks for the plain version"
    reason = refusal_of_triton()
    if reason is not None:
        return reason
    if request.form is None:
        return f"the norm {request.norm!r} has no kernels"
    if request.edge_strength is not None:
        return "a strength per edge has no kernels"
    if is_recorded():
        return "torch.jit.trace records plain torch"
    if is_pushed_forward() or is_functionalized():
        return "jvp, forward-mode differentiation or functionalize asks for the plain version"
    if request.x.shape[-1] > WIDEST:
        return f"a row has {request.x.shape[-1]} channels, the kernels take {WIDEST}"
    return None


@cache
def refusal_of_triton() -> str | None:
    """Why the Triton of this machine cannot compile the kernels, if it cannot."""
    if find_spec("triton") is None:
        return "triton is not installed: pip install 'elasticgnn[gpu]'"
    with optional_imports():
        import triton  # takes a second, and only calls with a GPU come here

    version: str = triton.__version__
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        return f"triton {version} is too old, the kernels need {OLDEST[0]}.{OLDEST[1]}"
    return None


@cache
def _register() -> None:
    # imported here: triton is an extra, and its import takes a second
    from elasticgnn.operator.triton.loops import register

    register()


def run(request: Request) -> Tensor:
    """x after the steps; differentiable in x, weights and step sizes."""
    _register()
    return fused_op.propagate_request(request, True)  # no look at the device for lambda1
