"""The fused operator: compiled loops behind torch.library, with exact gradients."""

import contextlib

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.kernels import native, warn_once_if_missing
from elasticgnn.operator import fused_op, outside, packed, population, tiled
from elasticgnn.operator.keeping import lean_rows
from elasticgnn.operator.kept import TooMuch
from elasticgnn.operator.shapes import with_runs
from elasticgnn.problem.step_sizes import StepSizes


def is_available() -> bool:
    """Whether the compiled loops were built and can be used; warns once if not."""
    if native is None:
        warn_once_if_missing()
    return native is not None


def require() -> None:
    """Raise unless the compiled loops are there."""
    if native is None:
        raise ValueError(
            "implementation must be 'reference' or 'auto' where elasticgnn was installed without "
            "its compiled kernels, got 'fused'"
        )


def propagate(
    x: Tensor,
    graph: Graph,
    sizes: StepSizes,
    norm: str,
    concavity: float,
    steps: int,
    memory: str,
) -> Tensor:
    """x (n, d) or (n, R, d) after `steps` steps; differentiable in x, weights and step sizes."""
    keep = _needed_gradients(x, graph.weight, sizes)
    if keep < 2 and fused_op.is_unwatched(x):
        out = _propagate_short(x, graph, sizes, norm, steps, keep, memory)
        if out is not None:
            return out
    slots = graph.slots
    tables = (*graph.cast(x.dtype), slots.start, slots.column, slots.edge)
    has_dual = keep == 2 or _has_dual(sizes)
    options = (norm, concavity, steps, keep, memory == "lean", has_dual)
    signal = fused_op.propagate(with_runs(x), *tables, *sizes, *options)[0]
    return signal.view(x.shape)


def _propagate_short(
    x: Tensor, graph: Graph, sizes: StepSizes, norm: str, steps: int, keep: int, memory: str
) -> Tensor | None:
    """The same by one of the shorter routes, or None where none fits; keep is 0 or 1."""
    if keep == 0 and population.fits(x, graph, norm, steps):
        has_dual = _has_dual(sizes)
        return population.propagate_population(x, graph, sizes, norm, steps, has_dual=has_dual)
    lanes = packed.packed_lanes(x, graph, norm, steps) if keep == 0 or memory == "fast" else 0
    if lanes:
        return packed.propagate_packed(x, graph, sizes, norm, steps, lanes, keep=keep == 1)
    if not _has_dual(sizes):
        return None
    if keep == 0:
        tiles = tiled.tiles_for(x, graph, norm, steps)
        return None if tiles is None else tiled.propagate_tiled(x, graph, sizes, steps, tiles)
    if not outside.fits(x, norm, steps):
        return None
    if memory == "fast":
        return outside.propagate_outside(x, graph, sizes, steps)
    # Rows that moved are kept as long as they weigh less than checkpoints and replays would.
    limit = int(lean_rows(steps, graph.num_edges / len(x)) * x.numel() * x.element_size())
    with contextlib.suppress(TooMuch):
        return outside.propagate_outside(x, graph, sizes, steps, limit)
    return None


def propagate_state(
    x: Tensor, graph: Graph, sizes: StepSizes, norm: str, concavity: float, steps: int
) -> tuple[Tensor, Tensor]:
    """Signal (n, R, d) and dual (m, R, d) after `steps` steps, no gradient."""
    return continue_state(x, graph, sizes, norm, concavity, steps, None, None)


def continue_state(
    x: Tensor,
    graph: Graph,
    sizes: StepSizes,
    norm: str,
    concavity: float,
    steps: int,
    signal: Tensor | None,
    dual: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Like `propagate_state`, from a given signal (n, R, d) and dual (m, R, d): a warm start."""
    weight, scale = graph.cast(x.dtype)
    slots = graph.slots
    tables = (slots.start, slots.column, slots.edge, weight.detach(), scale.detach())
    options = (norm, concavity, steps)
    plain_sizes = tuple(size.detach() for size in sizes)
    return fused_op.run_state(x.detach(), tables, plain_sizes, options, signal, dual)


def _needed_gradients(x: Tensor, weight: Tensor, sizes: StepSizes) -> int:
    """0: none; 1: of x alone; 2: of weights or step sizes too."""
    if not torch.is_grad_enabled():
        return 0
    if True in [tensor.requires_grad for tensor in (weight, *sizes)]:
        return 2
    return int(x.requires_grad)


def _has_dual(sizes: StepSizes) -> bool:
    """Whether the dual can leave zero: some run has lambda1 > 0 and gamma > 0."""
    if torch.compiler.is_compiling():
        return True
    return any(lambda1 > 0 and gamma > 0 for lambda1, gamma, *_ in sizes.numbers)
