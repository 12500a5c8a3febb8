"""K elastic steps on one process's rows, and their adjoint."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.distributed.exchange import Pending
from elasticgnn.distributed.graph import DistributedGraph
from elasticgnn.distributed.loops import Loops, Tape, scales
from elasticgnn.distributed.ordered_sum import sum_edges, sum_nodes, sum_scalars


def forward(
    loops: Loops, x: Tensor, steps: int, tape: list[Tape] | None, strengths: bool
) -> Tensor:
    """The signal (owned, padded) of local rows `x`; what the adjoint needs goes on the tape."""
    if steps == 0:
        return x
    run = forward_dual if loops.has_dual else forward_linear
    return run(loops, x, steps, tape, strengths)


def scaled(loops: Loops, rows: Tensor) -> Tensor:
    """s times owned rows, with room for the halo."""
    out = loops.node_rows(halo=True)
    torch.mul(rows, loops.scale[: loops.owned, None], out=out[: loops.owned])
    return out


def forward_linear(
    loops: Loops, x: Tensor, steps: int, tape: list[Tape] | None, strengths: bool
) -> Tensor:
    """lambda1 = 0: F <- gamma x + (1 - gamma) F - smoothing L F, one exchange a step."""
    u, out, signal = scaled(loops, x), loops.node_rows(halo=True), loops.node_rows()
    for step in range(steps):
        last = step + 1 == steps
        loops.smooth(loops.start(u), u, out, x, y=signal if last else None)
        if tape is not None:
            tape.append(Tape(u if strengths else None, out, None))
        u, out = out, (loops.node_rows(halo=True) if strengths else u)
    return signal


@dataclass(eq=False)
class State:
    """What a step with a dual begins with: s F, the weighted sums of dual rows, and the dual."""

    u: Tensor
    q: Tensor
    dual: Tensor

    @classmethod
    def first(cls, loops: Loops, x: Tensor) -> State:
        """That of the first step."""
        return cls(scaled(loops, x), loops.node_rows(), loops.dual_rows())

    def copy(self) -> State:
        """The same in memory of its own."""
        return State(self.u.clone(), self.q.clone(), self.dual.clone())


def forward_dual(
    loops: Loops, x: Tensor, steps: int, tape: list[Tape] | None, strengths: bool
) -> Tensor:
    """The paper's step: two exchanges, of s F and of s Fb."""
    state = State.first(loops, x)
    last = (steps - 1) // loops.stride * loops.stride  # later steps stay on the tape at once
    if tape is not None:
        for first in range(0, last, loops.stride):
            loops.states.append(state.copy() if first else None)
            dual_steps(loops, x, state, loops.stride, None, False)
    else:
        last = 0
    y = dual_steps(loops, x, state, steps - last, tape, strengths)
    if tape is not None and strengths:
        tape.append(Tape(None, state.u, state.dual))  # the dual behind the last step
    return y


def dual_steps(
    loops: Loops, x: Tensor, state: State, steps: int, tape: list[Tape] | None, strengths: bool
) -> Tensor:
    """The signal after so many steps from `state`, which is moved on."""
    y = loops.node_rows()
    predicted = loops.node_rows(halo=True)
    for step in range(steps):
        u, q, dual = state.u, state.q, state.dual
        loops.smooth(loops.start(u), u, predicted, x, q, y)
        if tape is not None:
            tape.append(Tape(u if strengths else None, predicted, dual))
            state.dual = loops.dual_rows()
            state.u = loops.node_rows(halo=True) if strengths else u  # padding must be 0
        f = y if step + 1 == steps else None  # in the end the signal takes y's place
        loops.ascend(loops.start(predicted), state.u, predicted, y, dual, state.dual, q, f)
        if tape is not None and step + 1 < steps:
            predicted = loops.node_rows(halo=True)
    return y


@dataclass(eq=False)
class Sums:
    """Gradients of strengths while they are added up over the steps, float64."""

    edge_lambda: Tensor
    edge_beta: Tensor
    edge_flow: Tensor
    edge_smoothing: Tensor
    node_scale: Tensor
    node_gamma: Tensor

    @classmethod
    def zeros(cls, graph: DistributedGraph) -> Sums:
        """Sums that nothing was added to yet."""
        edges, nodes = graph.local.num_edges, graph.local.owned
        counts = (edges, edges, edges, edges, nodes, nodes)
        return cls(*(torch.zeros(count, dtype=torch.float64) for count in counts))


@dataclass(eq=False)
class AdjointArrival:
    """An exchange of s gFb, after which the halo rows of h = s gF + s gFb are there too."""

    pending: Pending
    g: Tensor
    b: Tensor
    h: Tensor

    def finish(self) -> None:
        """Waits for the halo and adds the two halves up."""
        self.pending.finish()
        torch.add(self.g, self.b, out=self.h)


def backward(loops: Loops, x: Tensor, g: Tensor, tape: list[Tape], sums: Sums | None) -> Tensor:
    """The gradient of local rows `x` for the signal's, s times that with room for the halo in `g`.

    Empties the tape and uses up `g`.
    """
    total = loops.node_rows()
    if not loops.has_dual:
        g = linear_adjoint(loops, x, g, total, tape, sums)
    else:
        dual_grad = loops.dual_rows()
        adjoint_steps(loops, x, g, total, dual_grad, tape, sums)
        while loops.states:
            run_again(loops, x, tape)
            adjoint_steps(loops, x, g, total, dual_grad, tape, sums)
    return total.mul_(loops.gamma).add_(g[: loops.owned]).div_(loops.scale[: loops.owned, None])


def run_again(loops: Loops, x: Tensor, tape: list[Tape]) -> None:
    """The steps behind the last state that is left, on the tape; where they lead is known."""
    state = loops.states.pop() or State.first(loops, x)
    dual_steps(loops, x, state, loops.stride - 1, tape, False)
    predicted = loops.node_rows(halo=True)
    loops.smooth(loops.start(state.u), state.u, predicted, x, state.q)
    loops.start(predicted).finish()  # the adjoint reads its halo rows
    tape.append(Tape(None, predicted, state.dual))


def adjoint_steps(
    loops: Loops,
    x: Tensor,
    g: Tensor,
    total: Tensor,
    dual_grad: Tensor,
    tape: list[Tape],
    sums: Sums | None,
) -> None:
    """Moves `g`, `total` and `dual_grad` back over the steps of the tape, which it empties."""
    b, h = loops.node_rows(halo=True), loops.node_rows(halo=True)
    interior, owned = loops.graph.local.interior, loops.owned
    dual_after = tape.pop().dual if sums is not None else None
    edge_sums = (None, None) if sums is None else (sums.edge_lambda, sums.edge_beta)
    while tape:
        u, predicted, dual = tape.pop()
        loops.adjoint_step(loops.start(g), dual, predicted, dual_grad, g, b, h, total, *edge_sums)
        arrival = AdjointArrival(loops.start(b), g[owned:], b[owned:], h[owned:])
        if sums is not None:
            arrival.finish()
            loops.add_strengths((dual, dual_after, predicted, u, x, g, b, h), node_and_edge(sums))
        loops.correct_dual(0, interior, dual_grad, b)
        loops.smooth(arrival, h, g, None)
        loops.correct_dual(interior, owned, dual_grad, b)
        dual_after = dual if sums is not None else None


def linear_adjoint(
    loops: Loops, x: Tensor, g: Tensor, total: Tensor, tape: list[Tape], sums: Sums | None
) -> Tensor:
    """`g` before the steps of the tape, which have no dual (lambda1 = 0)."""
    out = loops.node_rows(halo=True)
    while tape:
        u = tape.pop().u
        pending = loops.start(g)
        total += g[: loops.owned]
        loops.smooth(pending, g, out, None)
        if sums is not None:
            loops.add_strengths((None, None, None, u, x, None, None, g), node_and_edge(sums))
        g, out = out, g
    return g


def node_and_edge(sums: Sums) -> tuple[Tensor, ...]:
    """The sums that edges and nodes need, in the loops' order."""
    return sums.edge_flow, sums.edge_smoothing, sums.node_scale, sums.node_gamma


def size_gradients(loops: Loops, sums: Sums) -> tuple[Tensor, ...]:
    """Gradients of lambda1, gamma, beta and smoothing, the same in every process."""
    graph = loops.graph
    weight = 1.0 if graph.weight is None else graph.weight.detach().double()
    flow, smoothing = (-weight * per_edge for per_edge in (sums.edge_flow, sums.edge_smoothing))
    nodes = sum_nodes(sums.node_gamma.numpy(), graph)
    edges = [
        sum_edges(values.numpy(), graph)
        for values in (sums.edge_lambda, flow, sums.edge_beta, smoothing)
    ]
    edges[1] = edges[1] + nodes
    return tuple(sum_scalars(own, graph) for own in edges)


def weight_gradient(loops: Loops, sums: Sums) -> Tensor:
    """The gradient of every weight held here (k,), equal on both sides of a cut."""
    graph = loops.graph
    gamma, _, smoothing = loops.numbers[:3]
    direct = -gamma * sums.edge_flow - smoothing * sums.edge_smoothing
    if graph.normalization == "none":
        return direct
    degree = torch.zeros(len(graph.local.nodes), dtype=torch.float64)
    own = scales(graph)[: loops.owned]
    degree[: loops.owned] = -0.5 * own * own * own * sums.node_scale
    graph.exchange.fill(degree)
    low, high = graph.edge_ends
    return direct + (degree[torch.from_numpy(low)] + degree[torch.from_numpy(high)])
