"""Thresholds of what Python prepares for the compiled loops; theirs are in simd/tuning.h.

Each names the benchmark that its value was fastest in, on a core with 32 KB and 1 MB of its own.
Modules read them here (`tuning.NAME`), so that tests can set them.
"""

# Nodes whose rows take more than this part of a core's own cache are reordered; registers whose
# dual rows stay in the nearest cache between two visits; nodes at most that change places so that
# equal ones lie together. benchmarks/bench_operator.py
REORDER_SHARE = 8
PACKED_CHUNK = 128
PACKED_WINDOW = 4096
# Below so many edges wide rows need one tile: threads would not pay. Blocks of nodes at most whose
# edges are cut into tiles, edges that must pay for one more visit of a node's rows, and how many
# ends of edges a node itself costs as much as. benchmarks/bench_wide.py
ONE_TILE_EDGES = 20_000
MOST_BLOCKS = 16
EDGES_PER_VISIT = 8
ENDS_PER_NODE = 4
# Edges per node from which on rows of 9 to 16 floats are left to the wide loops.
# benchmarks/bench_short_rows.py
WIDE_EDGES_PER_NODE = 8
# Mean square over squared mean of degrees from which on wide rows take hubs last, unless half of
# the edges lead to nodes nearer than this part of all. benchmarks/bench_wide.py
HUB_SKEW = 4
FAR_SHARE = 16
# Share of a register's lanes that a batch of runs must fill: with fewer one after the other is
# faster. benchmarks/bench_operator.py
LEAST_LANES = 0.6
# Values of flow below which a second thread of the solver costs more than it brings.
# benchmarks/bench_solver.py
SOLVER_ONE_THREAD = 50_000
