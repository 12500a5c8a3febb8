// The lazy dual: a row that no projection has moved is the difference of two sums.
//
// With V = beta times the sum of Ub over the steps so far, a row of the dual is
//   Z_e = C_e + V_tail - V_head,
// and C_e changes only when e is projected. Until then it is 0 and nobody reads or writes it: where
// few rows are active, the dual costs no memory traffic. Where many are, storing all of them is
// faster, and V loses digits as it grows: after a few steps, or once enough rows are active, every
// row is written down once as Z_e, and from then on V holds the last beta Ub alone.
#pragma once

#include <cstring>

#include "emp/general/plan.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// How a step treats the dual: the first reads none, the last leaves none, a lazy one reads the rows
// that were changed and stores those that it changes; a large dual is stored past the caches.
struct DualStep {
  bool is_first, is_last, was_lazy, is_lazy, past_caches;

  bool reads(const std::uint8_t* changed, std::int64_t e) const {
    return !is_first && (!was_lazy || changed[e]);
  }
  bool reads_all() const { return !is_first && !was_lazy; }
  bool stores_all() const { return !is_last && !is_lazy; }
};

// Rows whose squares sum up to at most this are inside the ball, however sums are rounded.
template <class T>
T lazy_bound(T radius) {
  return radius * radius * T(1 - 1e-5);
}

// Which rows are C, and which steps are lazy: all threads of a team come to the same answer.
struct LazyDual {
  std::uint8_t* changed;  // (m): whether C is not 0
  std::int64_t* active;   // (steps): how many rows each lazy step projected
  std::int64_t num_edges;
  int num_steps;

  LazyDual(std::int64_t num_edges_, int num_steps_, Arena& arena)
      : changed(arena.take<std::uint8_t>(num_edges_)),
        active(arena.take<std::int64_t>(num_steps_)),
        num_edges(num_edges_),
        num_steps(num_steps_) {}

  // The next step, number `count` from 0 on, behind `before`; every thread has met a barrier since
  // the step before it.
  DualStep next(int count, const DualStep& before, bool may_be_lazy, bool streams) const {
    const bool is_first = count == 0, is_last = count + 1 == num_steps,
               was_lazy = !is_first && before.is_lazy,
               is_lazy = may_be_lazy && count < tuning.lazy_steps &&
                         (is_first ||
                          (was_lazy && active[count - 1] * tuning.lazy_edges_per_row <= num_edges));
    return {is_first, is_last, was_lazy, is_lazy, streams && !is_last && !is_lazy};
  }
  void begin() const {
    for (int k = 0; k < num_steps; ++k) active[k] = 0;
  }
  void clear(std::int64_t first, std::int64_t last) const {
    std::memset(changed + first, 0, std::size_t(last - first));
  }
  void add_active(int count, std::int64_t rows) const {
#pragma omp atomic
    active[count] += rows;
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
