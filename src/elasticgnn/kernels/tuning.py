"""Thresholds of what Python prepares for the compiled loops; theirs are in simd/tuning.h.

Values are those that benchmarks/bench_operator.py, bench_wide.py, bench_short_rows.py and
bench_solver.py were fastest with on a core with 32 KB and 1 MB of its own.
"""

REORDER_SHARE = 8  # nodes whose rows take more than this part of a core's own cache are reordered
PACKED_CHUNK = 128  # registers whose dual rows stay in the nearest cache between two visits
PACKED_WINDOW = 4096  # nodes at most that change places so that equal ones lie together
ONE_TILE_EDGES = 20_000  # below, wide rows need one tile: threads would not pay
MOST_BLOCKS = 16  # of nodes, whose edges are cut into tiles
EDGES_PER_VISIT = 8  # that must pay for one more visit of a node's rows
WIDE_EDGES_PER_NODE = 8  # from which on rows of 9 to 16 floats are left to the wide loops
HUB_SKEW = 4  # mean square over squared mean of degrees, from which on wide rows take hubs last
FAR_SHARE = 16  # unless half of the edges lead to nodes nearer than this part of all
SOLVER_ONE_THREAD = 50_000  # values of flow below which a second thread costs more than it brings
