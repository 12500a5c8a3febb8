"""The two launches of a step, and the replay of the dual rows of several steps."""

from elasticgnn.extras import optional_imports

with optional_imports():
    import triton
    import triton.language as tl

from elasticgnn.operator.triton.device_functions import (
    load_line,
    node_tile,
    over_nodes,
    project,
    slot_tile,
)


@triton.jit
def _smooth(
    first, last, run, runs, width, graph, rows, FLAGS: tl.constexpr,
    N: tl.constexpr, S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    order, start, column, edge, weight, scale, sizes = graph
    x, g, v, u = rows
    tile = node_tile(first, last, run, runs, width, order, start, N, D)
    node, there, begin, end, at, inside = tile
    own = tl.load(g + at, mask=inside, other=0.0)
    total = own * 0.0
    for step in range(0, tl.max(end - begin, 0), S):
        slots = slot_tile(begin, end, step, run, runs, width, column, edge, S, D)
        _, e, live, wide, other_at, _ = slots
        theirs = tl.load(g + other_at, mask=wide, other=0.0)
        w = tl.load(weight + e, mask=live, other=0.0)
        total += tl.sum(w[:, :, None] * (own[:, None, :] - theirs), 1)
    gamma, smoothing = tl.load(sizes + runs + run), tl.load(sizes + 3 * runs + run)
    s = tl.load(scale + node, mask=there, other=0.0)[:, None]
    fixed = s * tl.load(x + at, mask=inside, other=0.0) - tl.load(v + at, mask=inside, other=0.0)
    new = gamma * fixed + (1.0 - gamma) * own - smoothing * s * s * total
    tl.store(u + at, new, mask=inside)


@triton.jit
def smooth_nodes(
    order, start, column, edge, hubs, weight, scale, sizes, x, g, v, u,
    num_nodes, runs, width, hub_programs,
    N: tl.constexpr, S: tl.constexpr, HUB_S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """U from G and V: one gather of node rows."""
    graph = (order, start, column, edge, weight, scale, sizes)
    rows = (x, g, v, u)
    shape = (hubs, num_nodes, runs, width, hub_programs)
    over_nodes(_smooth, (), graph, rows, shape, N, S, HUB_S, D)


@triton.jit
def _ascend(
    first, last, run, runs, width, graph, rows, FLAGS: tl.constexpr,
    N: tl.constexpr, S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    order, start, column, edge, weight, scale, sizes = graph
    u, v, z, v_next, g_next, z_next = rows
    FORM: tl.constexpr = FLAGS[0]
    MOVES: tl.constexpr = FLAGS[1]
    tile = node_tile(first, last, run, runs, width, order, start, N, D)
    node, there, begin, end, at, inside = tile
    radius, gamma = tl.load(sizes + run), tl.load(sizes + runs + run)
    beta = tl.load(sizes + 2 * runs + run)
    fade, slope, _, _ = load_line(sizes, run, runs)
    own = tl.load(u + at, mask=inside, other=0.0)
    total = own * 0.0
    for step in range(0, tl.max(end - begin, 0), S):
        slots = slot_tile(begin, end, step, run, runs, width, column, edge, S, D)
        other, e, live, wide, other_at, edge_at = slots
        upward = (other > node[:, None])[:, :, None]
        before = tl.load(z + edge_at, mask=wide, other=0.0).to(own.dtype)
        new = tl.where(upward, before, -before)
        if MOVES:
            theirs = tl.load(u + other_at, mask=wide, other=0.0)
            new += beta * (own[:, None, :] - theirs)
            rounded = project(new, radius, fade, slope, FORM).to(z_next.dtype.element_ty)
            tl.store(z_next + edge_at, rounded, mask=wide & upward)
            new = rounded.to(own.dtype)
        w = tl.load(weight + e, mask=live, other=0.0)
        total += tl.sum(w[:, :, None] * new, 1)
    s = tl.load(scale + node, mask=there, other=0.0)[:, None]
    flow = s * s * total
    if MOVES:
        change = tl.load(v + at, mask=inside, other=0.0) - flow
        tl.store(g_next + at, own + gamma * change, mask=inside)
    tl.store(v_next + at, flow, mask=inside)


@triton.jit
def ascend_edges(
    order, start, column, edge, hubs, weight, scale, sizes, u, v, z, v_next, g_next, z_next,
    num_nodes, runs, width, hub_programs, FORM: tl.constexpr, MOVES: tl.constexpr,
    N: tl.constexpr, S: tl.constexpr, HUB_S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Z, V and G after the dual step; with MOVES = False V alone, of the given Z."""
    graph = (order, start, column, edge, weight, scale, sizes)
    rows = (u, v, z, v_next, g_next, z_next)
    shape = (hubs, num_nodes, runs, width, hub_programs)
    over_nodes(_ascend, (FORM, MOVES), graph, rows, shape, N, S, HUB_S, D)


@triton.jit
def replay_edges(
    tail, head, sizes, u, z, ascended, num_edges, runs, width, steps, u_stride, edge_stride,
    FORM: tl.constexpr, FROM_ZERO: tl.constexpr, E: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """The rows a = z + beta (U_tail - U_head) of `steps` steps from saved U: edges need no others.

    u holds the steps `u_stride` numbers apart, `ascended` (steps, m, R, d) `edge_stride` apart.
    """
    run = tl.program_id(1)
    radius, beta = tl.load(sizes + run), tl.load(sizes + 2 * runs + run)
    fade, slope, _, _ = load_line(sizes, run, runs)
    e = tl.program_id(0).to(tl.int64) * E + tl.arange(0, E)
    live = e < num_edges
    lower = tl.load(tail + e, mask=live, other=0).to(tl.int64)
    upper = tl.load(head + e, mask=live, other=0).to(tl.int64)
    channel = tl.arange(0, D)[None, None, :]
    wide = live[:, None, None] & (channel < width)
    at = (e * runs + run)[:, None, None] * width + channel
    lower_at = (lower * runs + run)[:, None, None] * width + channel
    upper_at = (upper * runs + run)[:, None, None] * width + channel
    if FROM_ZERO:
        dual = tl.zeros((E, 1, D), dtype=u.dtype.element_ty)
    else:
        dual = tl.load(z + at, mask=wide, other=0.0).to(u.dtype.element_ty)
    rows, out = u, ascended  # pointers move by one step at a time: a product could overflow
    for _ in range(0, steps):
        difference = tl.load(rows + lower_at, mask=wide, other=0.0)
        difference -= tl.load(rows + upper_at, mask=wide, other=0.0)
        a = dual + beta * difference
        tl.store(out + at, a, mask=wide)
        rounded = project(a, radius, fade, slope, FORM).to(z.dtype.element_ty)
        dual = rounded.to(u.dtype.element_ty)
        rows += u_stride
        out += edge_stride
