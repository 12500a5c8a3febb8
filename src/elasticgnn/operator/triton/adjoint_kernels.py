"""The two launches of a step's adjoint: the same gathers, in the other order.

With h the cotangent of Z after the step, J the Jacobian of the projection at the saved row a:

    adjoint_edges  h_p = T_p - gamma w_p (Q_i - Q_j),  T_p <- J_p h_p
                   A_i = beta s_i^2 sum_p T_p,         P_i = H_i + A_i,    gx_i += gamma P_i
    adjoint_nodes  H_i <- (1 - gamma) P_i - smoothing s_i^2 sum_p w_p (P_i - P_j),  Q_i = H_i + A_i

H, P, Q are s^2 times the cotangents of the scaled rows. With ALL the gradients of weights, scales
and step sizes are summed beside: each number has one writer, its node or the lower end of its edge.
"""

from elasticgnn.extras import optional_imports

with optional_imports():
    import triton
    import triton.language as tl

from elasticgnn.operator.triton.device_functions import (
    apply_jacobian,
    load_line,
    node_tile,
    over_nodes,
    project,
    slot_tile,
)


@triton.jit
def _add(place, value, mask):
    tl.store(place, tl.load(place, mask=mask, other=0.0) + value, mask=mask)


@triton.jit
def _ascend_back(
    first, last, run, runs, width, graph, rows, FLAGS: tl.constexpr,
    N: tl.constexpr, S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    order, start, column, edge, weight, scale, sizes = graph
    q, h, t, ascended, t_next, a, p, by_x, x, g, u, v, v_next, sums, by_weight, node_stride = rows
    FORM: tl.constexpr = FLAGS[0]
    ALL: tl.constexpr = FLAGS[1]
    HALF: tl.constexpr = FLAGS[2]
    tile = node_tile(first, last, run, runs, width, order, start, N, D)
    node, there, begin, end, at, inside = tile
    radius, gamma = tl.load(sizes + run), tl.load(sizes + runs + run)
    beta = tl.load(sizes + 2 * runs + run)
    fade, slope, fade_beta, slope_beta = load_line(sizes, run, runs)
    own = tl.load(q + at, mask=inside, other=0.0)
    total = own * 0.0
    radius_sum = tl.sum(total, 1)
    beta_sum = tl.sum(total, 1)
    for step in range(0, tl.max(end - begin, 0), S):
        slots = slot_tile(begin, end, step, run, runs, width, column, edge, S, D)
        other, e, live, wide, other_at, edge_at = slots
        upward = other > node[:, None]
        difference = own[:, None, :] - tl.load(q + other_at, mask=wide, other=0.0)
        before = tl.load(t + edge_at, mask=wide, other=0.0)
        row = tl.load(ascended + edge_at, mask=wide, other=0.0)
        row = tl.where(upward[:, :, None], row, -row)
        w = tl.load(weight + e, mask=live, other=0.0)
        cotangent = tl.where(upward[:, :, None], before, -before)
        cotangent -= gamma * w[:, :, None] * difference
        product, by_radius, by_beta = apply_jacobian(
            row, cotangent, radius, fade, slope, fade_beta, slope_beta, FORM
        )
        tl.store(t_next + edge_at, product, mask=wide & upward[:, :, None])
        total += tl.sum(product, 1)
        if ALL:
            mine = live & upward
            radius_sum += tl.sum(tl.where(mine, by_radius, 0.0), 1)
            beta_sum += tl.sum(tl.where(mine, by_beta, 0.0), 1)
            dual = project(row, radius, fade, slope, FORM)
            if HALF:
                dual = dual.to(tl.bfloat16).to(row.dtype)
            gain = -gamma * tl.sum(tl.where(wide, difference * dual, 0.0), 2)
            _add(by_weight + e * runs + run, gain, mine)
    s = tl.load(scale + node, mask=there, other=1.0)[:, None]
    after = tl.load(h + at, mask=inside, other=0.0)
    part = beta * s * s * total
    whole = after + part
    tl.store(a + at, part, mask=inside)
    tl.store(p + at, whole, mask=inside)
    _add(by_x + at, gamma * whole, inside)
    if ALL:
        flow = tl.load(v + at, mask=inside, other=0.0)
        flow_next = tl.load(v_next + at, mask=inside, other=0.0)
        signal = tl.load(g + at, mask=inside, other=0.0)
        ascent = tl.load(u + at, mask=inside, other=0.0)
        fixed = s * tl.load(x + at, mask=inside, other=0.0)
        by_gamma = (whole * (fixed - signal - flow) + after * (flow - flow_next)) / (s * s)
        place = sums + node * runs + run
        _add(place, radius_sum, there)
        place += node_stride
        _add(place, tl.sum(by_gamma, 1), there)
        place += node_stride
        _add(place, beta_sum + tl.sum(ascent * total, 1), there)
        place += node_stride
        _add(place, -tl.sum(own * flow_next, 1), there)


@triton.jit
def adjoint_edges(
    order, start, column, edge, hubs, weight, scale, sizes,
    q, h, t, ascended, t_next, a, p, by_x, x, g, u, v, v_next, sums, by_weight,
    num_nodes, runs, width, hub_programs, node_stride,
    FORM: tl.constexpr, ALL: tl.constexpr, HALF: tl.constexpr,
    N: tl.constexpr, S: tl.constexpr, HUB_S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Cotangents through the dual step: T, A, P; gx grows."""
    graph = (order, start, column, edge, weight, scale, sizes)
    rows = (
        q, h, t, ascended, t_next, a, p, by_x, x, g, u, v, v_next, sums, by_weight, node_stride
    )  # fmt: skip
    shape = (hubs, num_nodes, runs, width, hub_programs)
    over_nodes(_ascend_back, (FORM, ALL, HALF), graph, rows, shape, N, S, HUB_S, D)


@triton.jit
def _smooth_back(
    first, last, run, runs, width, graph, rows, FLAGS: tl.constexpr,
    N: tl.constexpr, S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    order, start, column, edge, weight, scale, sizes = graph
    p, a, h, q, g, sums, by_weight = rows
    ALL: tl.constexpr = FLAGS[0]
    tile = node_tile(first, last, run, runs, width, order, start, N, D)
    node, there, begin, end, at, inside = tile
    gamma, smoothing = tl.load(sizes + runs + run), tl.load(sizes + 3 * runs + run)
    own = tl.load(p + at, mask=inside, other=0.0)
    total = own * 0.0
    signal = own * 0.0
    roughness = own * 0.0
    if ALL:
        signal = tl.load(g + at, mask=inside, other=0.0)
    for step in range(0, tl.max(end - begin, 0), S):
        slots = slot_tile(begin, end, step, run, runs, width, column, edge, S, D)
        other, e, live, wide, other_at, _ = slots
        w = tl.load(weight + e, mask=live, other=0.0)
        difference = own[:, None, :] - tl.load(p + other_at, mask=wide, other=0.0)
        total += tl.sum(w[:, :, None] * difference, 1)
        if ALL:
            delta = signal[:, None, :] - tl.load(g + other_at, mask=wide, other=0.0)
            roughness += tl.sum(w[:, :, None] * delta, 1)
            gain = -smoothing * tl.sum(tl.where(wide, difference * delta, 0.0), 2)
            _add(by_weight + e * runs + run, gain, live & (other > node[:, None]))
    s = tl.load(scale + node, mask=there, other=0.0)[:, None]
    before = (1.0 - gamma) * own - smoothing * s * s * total
    tl.store(h + at, before, mask=inside)
    tl.store(q + at, before + tl.load(a + at, mask=inside, other=0.0), mask=inside)
    if ALL:
        _add(sums + node * runs + run, -tl.sum(own * roughness, 1), there)


@triton.jit
def adjoint_nodes(
    order, start, column, edge, hubs, weight, scale, sizes, p, a, h, q, g, sums, by_weight,
    num_nodes, runs, width, hub_programs, ALL: tl.constexpr,
    N: tl.constexpr, S: tl.constexpr, HUB_S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Cotangents through the smoothing: H and Q from P and A."""
    graph = (order, start, column, edge, weight, scale, sizes)
    rows = (p, a, h, q, g, sums, by_weight)
    shape = (hubs, num_nodes, runs, width, hub_programs)
    over_nodes(_smooth_back, (ALL,), graph, rows, shape, N, S, HUB_S, D)
