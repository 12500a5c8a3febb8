// Every threshold and cache size of the loops. Tests set them through `native.tuning`; the values
// are those that `python benchmarks/bench_operator.py` was fastest with on a Zen 4 core (32 KB and
// 1 MB of its own) and its neighbours.
#pragma once

#include <cstdint>

namespace elasticgnn {

struct Tuning {
  // A core's own cache (L2). Rows of nodes are prefetched beyond 3/4 of it where the dual streams
  // beside them, beyond 1/2 where two tables do (packed loops); nodes are put into another order
  // beyond 1/8 (graph/packing.py).
  std::int64_t cache_bytes = 1 << 20;
  std::int64_t work_per_thread =
      200'000;  // numbers of a step below which a barrier costs more than a thread saves
  std::int64_t registers_per_thread = 8192;  // the same for the packed loops
  std::int64_t shared_cache_bytes =
      1 << 25;  // the last cache: a dual beyond it is stored past all of them
  std::int64_t ahead_edges =
      8;  // whose rows are prefetched by the wide loops; twice as many if short
  // The wide loops store the dual lazily (emp/wide/lazy.h) in so many steps at most, and while at
  // most one row in so many is active.
  std::int64_t lazy_steps = 16, lazy_edges_per_row = 32;
  std::int64_t scratch_bytes = 1 << 25;             // kept by a thread
  std::int64_t lent_bytes = std::int64_t(1) << 31;  // kept as well, but the system may have it
};

extern Tuning tuning;  // native.cpp

}  // namespace elasticgnn
