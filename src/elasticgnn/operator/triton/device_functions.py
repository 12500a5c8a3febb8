"""What the kernels share: tiles of nodes and slots, and the map of the dual step on their rows."""

from elasticgnn.extras import optional_imports

with optional_imports():
    import triton
    import triton.language as tl

from elasticgnn.problem.penalties.registry import FORMS

BALL = tl.constexpr(FORMS.index("ball"))
BOX = tl.constexpr(FORMS.index("box"))
TINY = tl.constexpr(1e-37)  # keeps 0 / 0 from rows of zeros where lambda1 = 0


@triton.jit
def node_tile(first, last, run, runs, width, order, start, N: tl.constexpr, D: tl.constexpr):
    """N nodes in the order of their degrees: numbers, presence, slots, and where their rows are."""
    place = first + tl.arange(0, N)
    there = place < last
    node = tl.load(order + place, mask=there, other=0).to(tl.int64)
    begin = tl.load(start + node, mask=there, other=0)
    end = tl.load(start + node + 1, mask=there, other=0)
    channel = tl.arange(0, D)
    at = (node * runs + run)[:, None] * width + channel[None, :]
    inside = there[:, None] & (channel < width)[None, :]
    return node, there, begin, end, at, inside


@triton.jit
def slot_tile(begin, end, step, run, runs, width, column, edge, S: tl.constexpr, D: tl.constexpr):
    """S slots of each node from `step` on: neighbours, edges, presence, where their rows are."""
    slot = begin[:, None] + step + tl.arange(0, S)[None, :]
    live = slot < end[:, None]
    other = tl.load(column + slot, mask=live, other=0).to(tl.int64)
    e = tl.load(edge + slot, mask=live, other=0).to(tl.int64)
    channel = tl.arange(0, D)
    wide = live[:, :, None] & (channel < width)[None, None, :]
    other_at = (other * runs + run)[:, :, None] * width + channel[None, None, :]
    edge_at = (e * runs + run)[:, :, None] * width + channel[None, None, :]
    return other, e, live, wide, other_at, edge_at


@triton.jit
def over_nodes(
    BODY: tl.constexpr, FLAGS: tl.constexpr, graph, rows, shape,
    N: tl.constexpr, S: tl.constexpr, HUB_S: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """BODY on this program's nodes [first, last): one of many neighbours, or N that share it."""
    hubs, num_nodes, runs, width, hub_programs = shape
    program = tl.program_id(0)
    count = tl.load(hubs)
    is_hub = program < hub_programs
    first = tl.where(is_hub, program, count + (program - hub_programs) * N)
    last = tl.where(is_hub, count, num_nodes)
    run = tl.program_id(1)
    if first < last:
        if is_hub:
            BODY(first, first + 1, run, runs, width, graph, rows, FLAGS, 1, HUB_S, D)
        else:
            BODY(first, last, run, runs, width, graph, rows, FLAGS, N, S, D)


@triton.jit
def load_line(sizes, run, runs):
    """start, slope and their derivatives by beta (problem/penalties/base.py: `Line`)."""
    at = sizes + 4 * runs + run
    return tl.load(at), tl.load(at + runs), tl.load(at + 2 * runs), tl.load(at + 3 * runs)


@triton.jit
def row_profile(length, radius, start, slope, start_beta, slope_beta, FORM: tl.constexpr):
    """phi, the most that a row of `length` has after the step, and its derivatives.

    phi = min(radius, max(0, start radius - slope length)); those by the length, radius and beta.
    """
    zero = length * 0.0
    if FORM == BALL:
        return zero + radius, zero, zero + 1.0, zero
    else:
        falling = start * radius - slope * length
        flat = falling >= radius
        falls = (falling > 0.0) & (falling < radius)
        phi = tl.where(flat, radius, tl.where(falls, falling, 0.0))
        by_length = tl.where(falls, -slope, zero)
        by_radius = tl.where(flat, 1.0, tl.where(falls, start, zero))
        by_beta = tl.where(falls, start_beta * radius - slope_beta * length, zero)
        return phi, by_length, by_radius, by_beta


@triton.jit
def longer(phi, length):
    """The larger of both: phi divided by it is 1 inside, 0 where lambda1 = 0, NaN of a NaN."""
    return tl.maximum(tl.maximum(phi, TINY), length, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def project(a, radius, start, slope, FORM: tl.constexpr):
    """The dual step's map on rows (N, S, D), as problem/penalties define it."""
    if FORM == BOX:
        above = tl.maximum(a, -radius, propagate_nan=tl.PropagateNan.ALL)
        return tl.minimum(above, radius, propagate_nan=tl.PropagateNan.ALL)
    else:
        length = tl.sqrt(tl.sum(a * a, 2))
        phi, _, _, _ = row_profile(length, radius, start, slope, 0.0, 0.0, FORM)
        return a * (phi / longer(phi, length))[:, :, None]


@triton.jit
def apply_jacobian(a, h, radius, start, slope, start_beta, slope_beta, FORM: tl.constexpr):
    """h (N, S, D) times the Jacobian of `project` at a; h times its slopes in radius and beta."""
    if FORM == BOX:
        above, below = a > radius, a < -radius
        inside = tl.where(radius > 0.0, 1.0, 0.0)  # lambda1 = 0 maps zeros too to zero
        product = tl.where(above | below, 0.0, h * inside)
        by_radius = tl.sum(tl.where(above, h, tl.where(below, -h, 0.0)), 2)
        return product, by_radius, by_radius * 0.0
    else:
        length = tl.sqrt(tl.sum(a * a, 2))
        phi, by_length, by_radius, by_beta = row_profile(
            length, radius, start, slope, start_beta, slope_beta, FORM
        )
        longest = longer(phi, length)
        along = tl.where(length > radius, tl.sum(a * h, 2) / longest, 0.0)
        factor = phi / longest
        radial = (by_length - factor) * along / longest
        return factor[:, :, None] * h + radial[:, :, None] * a, along * by_radius, along * by_beta
