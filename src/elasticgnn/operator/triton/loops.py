"""The forward pass and its adjoint on a device: `elasticgnn::propagate` for CUDA tensors."""

from typing import Any

import torch
from torch import Tensor

from elasticgnn.operator.checkpoints import Checkpoints, plan_device_checkpoints
from elasticgnn.operator.fused_loops import Arguments, gradient_shapes
from elasticgnn.operator.kernel_call import form_number, in_memory
from elasticgnn.operator.triton.tables import tables_of, tile_for
from elasticgnn.operator.triton.work import Cotangents, State, Work
from elasticgnn.problem.penalties.registry import penalty_by_name


def work_of(given: Arguments) -> Work:
    """The launches of a call of the operator."""
    x = in_memory(given.x)
    sizes = [given.lambda1, given.gamma, given.beta, given.smoothing]
    edge_penalty = penalty_by_name(given.norm, given.concavity)
    sizes += [torch.zeros_like(given.beta) + part for part in edge_penalty.line(given.beta)]
    tables = tables_of(given.start, given.column, given.edge)
    weight, scale = in_memory(given.weight), in_memory(given.scale)
    tile, half = tile_for(x.shape[2]), given.memory == "half"
    return Work(tables, weight, scale, torch.stack(sizes), x, form_number(edge_penalty), tile, half)


def forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    """x after the steps, and the node rows and duals that the adjoint needs."""
    given = Arguments(*arguments)
    if given.is_trivial:
        out = given.x.clone(memory_format=torch.contiguous_format)
        return out, out.new_empty(0), out.new_empty(0)
    work = work_of(given)
    plan = plan_device_checkpoints(given.steps, given.gradients, given.lean)
    nodes = work.x.new_empty(plan.num_nodes, *work.x.shape)
    duals = work.edge_rows(plan.num_duals, dtype=work.dual_dtype)
    state = run_steps(work, work.start_state(), given.steps, plan, nodes, duals)
    return state.g / work.scale[:, None, None], nodes.flatten(), duals.flatten()


def run_steps(
    work: Work, state: State, steps: int, plan: Checkpoints, nodes: Tensor, duals: Tensor
) -> State:
    """The state after the steps; what the plan saves goes to `nodes` and `duals`.

    Saved of every step: U, or G, U and the V after it; else G at the steps whose dual is saved.
    """
    scratch, last = torch.empty_like(work.x), state.g
    spare = torch.empty_like(state.z)
    width = len(nodes) // steps if plan.all_nodes else 0
    if width == 3:
        state = State(nodes[0].copy_(state.g), state.v, state.z)
    for k in range(steps):
        if k and k % plan.every == 0 and len(duals):
            place = k // plan.every - 1
            duals[place] = state.z
            if not plan.all_nodes:
                nodes[place] = state.g
        u = nodes[k * width + (width == 3)] if width else scratch
        g, v = state.g, state.v
        if width == 3:
            g, v = (nodes[3 * k + 3] if k + 1 < steps else last), nodes[3 * k + 2]
        after = State(g, v, spare)
        work.step(state, after, u)
        state, spare = after, state.z
    return state


def backward(
    grad: Tensor, out: Tensor, nodes: Tensor, duals: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    """Gradients of x, weight, scale and the four step sizes; unwanted ones are empty."""
    *arguments, wanted = rest
    given = Arguments(*arguments)
    shapes = gradient_shapes(given, wanted)
    if given.is_trivial:
        others = (given.x.new_zeros(shape) for shape in shapes)
        return (grad.clone(memory_format=torch.contiguous_format), *others)
    work = work_of(given)
    carried = _start_cotangents(work, in_memory(grad))
    plan = plan_device_checkpoints(given.steps, given.gradients, given.lean)
    nodes = nodes.view(-1, *work.x.shape)
    duals = duals.view(-1, work.num_edges, *work.x.shape[1:])
    _walk_back(work, carried, given, plan, (nodes, duals))
    scale = work.scale[:, None, None]
    by_x = (carried.by_x + carried.h) / scale
    by_weight = carried.by_weight.sum(1) if wanted[0] else grad.new_zeros(0)
    by_scale = grad.new_zeros(0)
    if wanted[1]:
        by_scale = _scale_gradient(work, carried.sums, (by_x * work.x - grad * out).sum(2))
    by_sizes = carried.sums[[0, 1, 2, 4]].sum(1) if wanted[2] else grad.new_zeros(0)
    return by_x, by_weight, by_scale, by_sizes


def _start_cotangents(work: Work, grad: Tensor) -> Cotangents:
    h = work.scale[:, None, None] * grad
    n, runs, _ = h.shape
    sums = h.new_zeros(5, n, runs)
    by_weight = h.new_zeros(work.num_edges, runs)
    a, p = torch.empty_like(h), torch.empty_like(h)
    return Cotangents(h, h.clone(), a, p, torch.zeros_like(h), sums, by_weight)


def _walk_back(
    work: Work,
    carried: Cotangents,
    given: Arguments,
    plan: Checkpoints,
    saved: tuple[Tensor, Tensor],
) -> None:
    """The adjoint of all steps, in segments between saved duals, the last first."""
    nodes, duals = saved
    before, after = work.edge_rows(), work.edge_rows()
    rows = 3 if given.gradients == "all" else 1
    ascended = work.edge_rows(min(plan.every, given.steps))
    for first in reversed(range(0, given.steps, plan.every)):
        count = min(plan.every, given.steps - first)
        z = duals[first // plan.every - 1] if first else None
        part = nodes[first * rows : (first + count) * rows]
        if not plan.all_nodes:
            part = _run_again(work, nodes, z, first // plan.every - 1, count, rows)
        part = part.view(count, rows, *work.x.shape)
        work.replay(part[:, rows // 2], z, ascended[:count])
        v_first = _first_v(work, nodes, z, first, plan) if rows == 3 else None
        for k in reversed(range(count)):
            states = None
            if v_first is not None:
                states = (part[k, 0], part[k, 1], part[k - 1, 2] if k else v_first, part[k, 2])
            work.step_back(carried, (before, after, ascended[k]), states)
            before, after = after, before


def _first_v(work: Work, nodes: Tensor, z: Tensor | None, first: int, plan: Checkpoints) -> Tensor:
    """V at the start of a segment: saved, or that of the saved dual."""
    if z is not None and plan.all_nodes:
        return nodes[3 * first - 1]
    v = torch.zeros_like(work.x)
    if z is not None:
        work.restore_v(z, v)
    return v


def _run_again(
    work: Work, nodes: Tensor, z: Tensor | None, place: int, count: int, rows: int
) -> Tensor:
    """The node rows of a segment, from the state at its start."""
    state = work.start_state()
    if z is not None:
        work.restore_v(z, state.v)
        state = State(nodes[place].clone(), state.v, z.clone())
    part = work.x.new_empty(count * rows, *work.x.shape)
    none = work.edge_rows(0)
    run_steps(work, state, count, Checkpoints(count, True, len(part), 0), part, none)
    return part


def _scale_gradient(work: Work, sums: Tensor, ends: Tensor) -> Tensor:
    """The gradient (n,) of the scale: `ends` (n, R) is what start and end of the steps give."""
    gamma, smoothing, scale = work.sizes[1], work.sizes[3], work.scale[:, None]
    inner = 2 * smoothing * sums[4] / scale + 2 * gamma * sums[3] / scale**3
    return (ends / scale + inner).sum(1)


def register() -> None:
    """Make `forward` and `backward` what the operators do to CUDA tensors."""
    torch.library.impl("elasticgnn::propagate", "CUDA", forward)
    torch.library.impl("elasticgnn::propagate_backward", "CUDA", backward)
