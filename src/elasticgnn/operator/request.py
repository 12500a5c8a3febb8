"""One call of elastic message passing, checked and complete: what every route is handed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.autograd import forward_ad

from elasticgnn.graph import Graph
from elasticgnn.graph.checks import check_weight
from elasticgnn.graph.once import is_compiling, is_traced, is_wrapped, needs_gradient
from elasticgnn.kernels import native, warn_once_if_missing
from elasticgnn.kernels.transforms import is_functionalized, is_pushed_forward
from elasticgnn.problem import EdgePenalty, ElasticPenalty
from elasticgnn.problem.step_sizes import StepSizes, step_sizes

IMPLEMENTATIONS = ("auto", "fused", "reference")
GRADIENTS = ("none", "x", "all")  # of nothing, x alone, weights or step sizes too; numbers in C++
MEMORY_MODES = ("fast", "lean", "half")
HALF = (torch.float16, torch.bfloat16)
CPU = torch.device("cpu")
IN_PARTS = "several processes hold the graph"  # why other routes refuse it


class PartedGraph(Protocol):
    """A graph of which this process holds some parts, and others the rest.

    It brings its own loops and exchanges, so that the operator knows no processes.
    """

    @property
    def num_owned(self) -> int:
        """Number of nodes of this process."""

    @property
    def weight(self) -> Tensor | None:
        """Of the edges held here; None: all are 1."""

    @property
    def norm_bound(self) -> float:
        """A number that is at least ||L||, the same in every process."""

    def with_weight(self, weight: Tensor) -> PartedGraph:
        """The same edges with other weights."""

    def propagate(self, request: Request) -> Tensor:
        """The rows of this process after the steps, which all processes take together."""


@dataclass(frozen=True)
class Request:
    """What is to be computed, and what of it will be differentiated."""

    x: Tensor  # (n, d) or (n, R, d), float32 or float64
    given_graph: Graph | PartedGraph  # with its final weights
    sizes: StepSizes
    edge_penalty: EdgePenalty
    concavity: float  # of it, 0 where it has none
    steps: int
    gradients: str  # one of GRADIENTS
    memory: str
    implementation: str
    # by torch.compile, torch.func, a dispatch mode or a subclass of Tensor: the call goes through
    # torch's dispatcher
    is_watched: bool
    edge_strength: Tensor | None = None  # (m,): multiplies lambda1 of each edge

    @property
    def graph(self) -> Graph:
        """The graph, which this process holds whole: other requests are refused before."""
        assert isinstance(self.given_graph, Graph)
        return self.given_graph

    @property
    def parts(self) -> PartedGraph | None:
        """The parts that this process holds; None: all of the graph."""
        return None if isinstance(self.given_graph, Graph) else self.given_graph

    @property
    def norm(self) -> str:
        """The name of the penalty."""
        return self.edge_penalty.name

    @property
    def form(self) -> str | None:
        """The projection's form in the compiled loops; None: they have none."""
        return self.edge_penalty.form

    @property
    def has_dual(self) -> bool:
        """Whether the dual can leave zero: some run has lambda1 > 0 and gamma > 0."""
        if is_compiling() or any(map(is_wrapped, self.sizes)):
            return True
        return any(lambda1 > 0 and gamma > 0 for lambda1, gamma, *_ in self.sizes.numbers)

    @property
    def is_one_run(self) -> bool:
        """Whether x holds one signal that is not empty."""
        return self.x.numel() == len(self.x) * self.x.shape[-1] > 0


@dataclass(frozen=True)
class Options:
    """How a call is to be done; None is the paper's step size."""

    gamma: float | None = None
    beta: float | None = None
    implementation: str = "auto"
    memory: str = "fast"

    def __post_init__(self) -> None:
        if self.implementation not in IMPLEMENTATIONS:
            raise ValueError(
                f"implementation must be one of {IMPLEMENTATIONS}, got {self.implementation!r}"
            )
        if self.memory not in MEMORY_MODES:
            raise ValueError(f"memory must be one of {MEMORY_MODES}, got {self.memory!r}")


def make_request(
    x: Tensor,
    graph: Graph | PartedGraph,
    penalty: ElasticPenalty,
    steps: int,
    options: Options,
    edge_weight: Tensor | None = None,
    edge_strength: Tensor | None = None,
) -> Request:
    """The request of a call, after every check."""
    x = _checked_rows(x, graph)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise ValueError(f"steps must be an integer >= 0, got {steps!r}")
    if edge_weight is not None:
        graph = graph.with_weight(_single(edge_weight))
    if edge_strength is not None:
        edge_strength = _single(edge_strength)
        if isinstance(graph, Graph):
            check_weight(edge_strength, graph.num_edges, "edge_strength")
    runs = 1 if x.ndim == 2 else x.shape[1]
    sizes = step_sizes(penalty, graph.norm_bound, x, runs, gamma=options.gamma, beta=options.beta)
    edge_penalty = penalty.edge_penalty
    weight = graph._weight if isinstance(graph, Graph) else graph.weight
    if options.implementation == "fused":
        _require_kernels(x, edge_penalty)
    traced = is_traced()
    asks = needs_gradient if traced else _requires_grad
    return Request(
        x,
        graph,
        sizes,
        edge_penalty,
        penalty.concavity or 0.0,
        steps,
        _needed_gradients(asks, x, weight, *_tensors(penalty), edge_strength),
        options.memory,
        options.implementation,
        traced or type(x) not in (Tensor, torch.nn.Parameter),
        edge_strength,
    )


def _single(values: Tensor) -> Tensor:
    """Numbers of edges in the precision of the computation."""
    return values.float() if isinstance(values, Tensor) and values.dtype in HALF else values


def _checked_rows(x: Tensor, graph: Graph | PartedGraph) -> Tensor:
    """x in the precision of the computation: half-precision rows are computed in float32."""
    if isinstance(graph, Graph):
        rows, device = graph.num_nodes, graph.device
    else:
        rows, device = graph.num_owned, CPU
    if not isinstance(x, Tensor) or x.ndim not in (2, 3) or x.shape[0] != rows:
        shape = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x must be ({rows}, d) or (n, R, d) for this graph, got {shape}")
    if x.dtype in HALF:
        x = x.float()
    if x.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"x must hold floating point numbers, got {x.dtype}")
    if x.device != device:
        raise ValueError(f"x must be on the graph's device {device}, got {x.device}")
    return x


def _require_kernels(x: Tensor, edge_penalty: EdgePenalty) -> None:
    if edge_penalty.form is None:
        raise ValueError(
            "implementation must be 'reference' or 'auto' for a norm without compiled loops, "
            f"got 'fused' for {edge_penalty.name!r}"
        )
    if x.is_cuda:
        return
    if not x.is_cpu:
        raise ValueError(f"implementation 'fused' must have x on the CPU or a GPU, got {x.device}")
    if native is None:
        raise ValueError(
            "implementation must be 'reference' or 'auto' where elasticgnn was installed without "
            "its compiled kernels, got 'fused'"
        )


def _tensors(penalty: ElasticPenalty) -> list[Tensor]:
    """Its strengths that may ask for a gradient: step sizes ask for one where these do."""
    strengths = (penalty.lambda1, penalty.lambda2)
    return [strength for strength in strengths if isinstance(strength, Tensor)]


def _requires_grad(tensor: Tensor) -> bool:
    """What `needs_gradient` says where nothing watches, in a tenth of its time."""
    return tensor.requires_grad


def _needed_gradients(asks: Callable[[Tensor], bool], x: Tensor, *others: Tensor | None) -> str:
    if not torch.is_grad_enabled():
        return "none"
    if True in [asks(tensor) for tensor in others if tensor is not None]:
        return "all"
    return "x" if asks(x) else "none"


def is_recorded() -> bool:
    """Whether torch.jit.trace records this call, which sees tensors and no addresses."""
    return not torch.compiler.is_compiling() and bool(torch._C._is_tracing())


def refusal_of_kernels(request: Request) -> str | None:
    """Why no compiled loop of one process serves the request, if none does."""
    return refusal_of_loops(request) if request.parts is None else IN_PARTS


def refusal_of_loops(request: Request) -> str | None:
    """Why no compiled loop serves the request, whoever holds the graph."""
    if request.implementation == "reference":
        return "implementation='reference' asks for the plain version"
    if request.form is None:
        return f"the norm {request.norm!r} has no compiled loops"
    if request.edge_strength is not None:
        return "a strength per edge has no compiled loops"
    if is_recorded():
        return "torch.jit.trace records plain torch"
    if not request.x.is_cpu:
        return f"the compiled loops need x on the CPU, it is on {request.x.device}"
    if native is None:
        warn_once_if_missing()
        return "elasticgnn was installed without its compiled loops"
    if request.implementation == "auto" and _is_transformed(request):
        return "jvp, forward-mode differentiation or functionalize asks for the plain version"
    return None


def _is_transformed(request: Request) -> bool:
    """By jvp, forward-mode differentiation or functionalize."""
    if not request.is_watched and forward_ad._current_level < 0:
        return False  # what each call of a small graph would otherwise pay for
    return is_pushed_forward() or is_functionalized()


def refusal_of_direct_call(request: Request) -> str | None:
    """Why loops that torch does not know cannot be called, if they cannot."""
    reason = refusal_of_kernels(request)
    if reason is not None:
        return reason
    if request.is_watched:
        return "torch.compile, torch.func, a dispatch mode or a subclass of Tensor is watching"
    if request.gradients == "all":
        return "gradients of weights or strengths are wanted"
    return None if request.steps > 0 and request.x.numel() > 0 else "there is nothing to do"
