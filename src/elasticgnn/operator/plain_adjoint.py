"""The gradients of operator/plain_steps.py, written out; names with bar are cotangents."""

from typing import NamedTuple

import torch
from torch import Tensor

from elasticgnn.operator.plain_projection import Adjoint
from elasticgnn.operator.plain_steps import PlainSteps, Tape
from elasticgnn.operator.second_order import Inputs

BLOCK = 4  # steps whose edges are looked at together: few operations, little memory


class Bars(NamedTuple):
    """Cotangents of every step (K, n, R, d), where all gradients are wanted."""

    y: Tensor
    joint: Tensor  # of U and of the prediction that follows: Q takes part in both
    ahead: Tensor  # of the prediction, before beta


class Shares(NamedTuple):
    """What the steps add to the gradients of what they are made of."""

    weight: Tensor  # (m,)
    scale: Tensor  # (n,)
    gamma: Tensor  # (R,), as the next two
    beta: Tensor
    smoothing: Tensor


def gradients(
    steps: PlainSteps, inputs: Inputs, out: Tensor, grad: Tensor, tape: Tape
) -> Inputs | Tensor:
    """The gradients of <grad, out> in all inputs, or in x alone if the tape holds no more."""
    everything = tape.is_of_all
    adjoint = steps.project.adjoint(tape.ascended, everything)
    bars = Bars(*grad.new_zeros(3, steps.steps, *grad.shape).unbind())
    last_bar = grad / steps.scale
    first_bar = _walk(steps, adjoint, bars, last_bar, everything)
    given_bar = bars.y.sum(0)
    start_bar = first_bar.addcmul_(steps.gamma, given_bar)
    by_x = steps.scale * start_bar
    if not everything:
        return by_x
    shares = _shares(steps, adjoint, bars, tape, steps.scale * out)
    return Inputs(
        by_x,
        shares.weight,
        shares.scale + (start_bar * inputs.x - last_bar * out).sum((1, 2)),
        adjoint.by_lambda1(),
        shares.gamma + (given_bar * steps.scale * inputs.x).sum((0, 2)),
        shares.beta,
        shares.smoothing,
    )


def _walk(
    steps: PlainSteps, adjoint: Adjoint, bars: Bars, signal_bar: Tensor, everything: bool
) -> Tensor:
    """The cotangent of U before the first step, from that after the last; fills `bars`."""
    y_bars, joint_bars, aheads = (table.unbind() for table in bars)
    ahead_bar = torch.zeros_like(signal_bar)
    dual_bar = signal_bar.new_zeros(len(steps.tail), *signal_bar.shape[1:])
    for k in reversed(range(steps.steps)):
        joint_bar = torch.add(signal_bar, ahead_bar, out=joint_bars[k])
        differences = steps.difference(steps.back * joint_bar)
        adjoint.apply(k, dual_bar.addcmul_(differences, steps.weight))
        if everything:
            adjoint.flow(k, differences)
        ahead_bar = steps.beta * steps.divergence(dual_bar, aheads[k])
        y_bar = torch.add(signal_bar, ahead_bar, out=y_bars[k])
        signal_bar = steps.spread(y_bar, steps.far, steps.own * y_bar)
    return signal_bar


def _shares(steps: PlainSteps, adjoint: Adjoint, bars: Bars, tape: Tape, last: Tensor) -> Shares:
    """The steps' shares; `last` is U after all of them."""
    scale, weight = steps.scale[..., 0], steps.weight[..., 0]  # (n, 1), (m, 1)
    gamma, smoothing, square = steps.gamma[:, 0], steps.smoothing[:, 0], scale.square()
    at_tail, at_head = _end_products(steps, bars.y, tape.signal)
    totals = _totals(steps, adjoint, tape.signal)
    # smoothing s^2 multiplies -(sum of w differences of U) in y, and -gamma s^2 multiplies Q
    share = smoothing * square
    share_bar = torch.zeros_like(share).index_add_(0, steps.tail, weight * at_tail, alpha=-1)
    share_bar.index_add_(0, steps.head, weight * at_head)
    back_bar = (bars.joint * totals).sum((0, -1))
    by_weight = adjoint.flows() - share[steps.tail] * at_tail + share[steps.head] * at_head
    by_scale = 2 * scale * (smoothing * share_bar - gamma * back_bar)
    by_beta = (bars.ahead * _predictions(steps, tape.signal, totals, last)).sum((0, 1, 3))
    return Shares(
        by_weight.sum(1),
        by_scale.sum(1),
        -(square * back_bar).sum(0) - (bars.y * tape.signal).sum((0, 1, 3)),
        by_beta + adjoint.by_beta(),
        (square * share_bar).sum(0),
    )


def _totals(steps: PlainSteps, adjoint: Adjoint, signal: Tensor) -> Tensor:
    """Q after every step, from the duals: as much memory as U, had it been saved."""
    totals = torch.zeros_like(signal)
    for total, dual in zip(torch.split(totals, BLOCK), adjoint.duals(BLOCK), strict=True):
        flow = dual.mul_(steps.weight)
        total.index_add_(1, steps.tail, flow).index_add_(1, steps.head, flow, alpha=-1)
    return totals


def _predictions(steps: PlainSteps, signal: Tensor, totals: Tensor, last: Tensor) -> Tensor:
    """What beta multiplies the differences of, in every step: U after it with Q of before."""
    rows = -steps.back * totals
    rows[1:].addcmul_(steps.back, totals[:-1])
    rows[:-1].add_(signal[1:])
    rows[-1:].add_(last)
    return rows


def _end_products(steps: PlainSteps, y_bar: Tensor, signal: Tensor) -> tuple[Tensor, Tensor]:
    """<y_bar at an edge's tail, difference of the signal>, and at its head: (m, R), all steps."""
    at_tail, at_head = [], []
    for bar, rows in zip(torch.split(y_bar, BLOCK), torch.split(signal, BLOCK), strict=True):
        change = rows.index_select(1, steps.tail).sub_(rows.index_select(1, steps.head))
        at_tail.append(bar.index_select(1, steps.tail).mul_(change).sum((0, -1)))
        at_head.append(bar.index_select(1, steps.head).mul_(change).sum((0, -1)))
    return torch.stack(at_tail).sum(0), torch.stack(at_head).sum(0)
