// Every threshold, cache size and prefetch distance of the loops. Each names the benchmark that its
// value was fastest in, on a Zen 4 core (32 KB and 1 MB of its own) and its neighbours: run it with
// another value to compare. Tests set those of `Tuning` through `native.tuning`.
#pragma once

#include <cstdint>

namespace elasticgnn {

// What a sweep of the wide loops over the nodes prefetches beside the rows that it gathers, if
// those are longer than a line (python benchmarks/bench_wide.py: dense and hubs gain at d = 40).
constexpr std::int64_t kSlotsAhead = 256, kNodesAhead = 2, kBytesAboveForNodes = 64;
// Nodes whose rows are prefetched where far ones end a step, and where they are the next tails of a
// sweep over edges (python benchmarks/bench_wide.py: hubs take 6 to 9 % less time; up to 16 and 8
// times as far makes no difference on roads).
constexpr std::int64_t kSettledAhead = 8, kTailsAhead = 4;
// Rows of one line are gathered node by node: their visits block by block cost more than they save
// (python benchmarks/bench_wide.py: dense at d = 16).
constexpr std::int64_t kBytesAboveForBlocks = 64;

struct Tuning {
  // A core's own cache (L2). Rows of nodes are prefetched beyond 3/4 of it where the dual streams
  // beside them, beyond 1/2 where two tables do (packed loops); nodes are put into another order
  // beyond 1/8 (graph/packing.py). benchmarks/bench_operator.py
  std::int64_t cache_bytes = 1 << 20;
  // Numbers of a step below which a barrier costs more than a thread saves; the same in registers
  // for the packed loops. benchmarks/bench_operator.py
  std::int64_t work_per_thread = 200'000;
  std::int64_t registers_per_thread = 8192;
  // The last cache: a dual beyond it is stored past all of them if that pays on this processor, and
  // rows of a whole register are left to the wide loops. benchmarks/bench_wide.py,
  // benchmarks/bench_short_rows.py
  std::int64_t shared_cache_bytes = 1 << 25;
  bool stores_past_caches = true;
  // Rows from which on a sweep of the wide loops over the nodes leaves the next ones to the
  // hardware. benchmarks/bench_wide.py
  std::int64_t bytes_below_for_nodes = 256;
  // Slots of a node that a visit of one block of columns must have in the mean for the wide loops
  // to gather block by block. benchmarks/bench_wide.py
  std::int64_t slots_per_visit = 5;
  // Edges whose rows are prefetched by the wide loops; twice as many if short.
  // benchmarks/bench_wide.py
  std::int64_t ahead_edges = 8;
  // The wide loops store the dual lazily (emp/wide/lazy.h) in so many steps at most, and while at
  // most one row in so many is active. benchmarks/bench_wide.py
  std::int64_t lazy_steps = 16;
  std::int64_t lazy_edges_per_row = 32;
  // Scratch that a thread keeps from call to call; and what it keeps as well, but the system may
  // have. benchmarks/bench_saved_rows.py
  std::int64_t scratch_bytes = 1 << 25;
  std::int64_t reclaimable_bytes = std::int64_t(1) << 31;
};

extern Tuning tuning;  // native.cpp

// How far ahead the loops prefetch, known when they are compiled: registers that a sweep of the
// packed loops reads and writes, and whose neighbours it reads; nodes of the caller's rows, which
// the population loops read in another order. benchmarks/bench_operator.py
constexpr std::int64_t kAheadRegisters = 192, kAheadNeighbours = 16, kAheadNodes = 6;
// Rows of neighbours that the general loops prefetch, those shorter than a line of the cache
// farther; and how many of its slots a node costs, where threads share the nodes.
// benchmarks/bench_operator.py
constexpr std::int64_t kAheadShortRows = 24, kAheadRows = 8, kNodeCost = 3;

}  // namespace elasticgnn
