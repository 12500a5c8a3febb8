// One thread's count of the steps of its team. All threads leave after the same step: what the
// first one writes in a step is read in the next, and a barrier lies between the two.
#pragma once

#include <omp.h>

#include "threads/interrupt.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// For iterations that share no barrier: whether the rest of them is left out.
inline bool is_over(Interrupt* interrupt) {
  if (omp_get_thread_num() == 0 && interrupt->wanted(interrupt->context))
    __atomic_store_n(&interrupt->last_step, 0, __ATOMIC_RELAXED);
  return __atomic_load_n(&interrupt->last_step, __ATOMIC_RELAXED) != kNever;
}

struct Steps {
  Interrupt* interrupt;
  std::int64_t count = 0;

  // Begins a step, in which every thread of the team meets a barrier; false: the call ends here.
  bool next() {
    const std::int64_t last = __atomic_load_n(&interrupt->last_step, __ATOMIC_RELAXED);
    const bool alone = omp_get_num_threads() == 1;
    if (count > last || (alone && last != kNever)) return false;
    if (omp_get_thread_num() == 0 && omp_get_level() == 1)
      interrupt->threads = omp_get_num_threads();
    if (omp_get_thread_num() == 0 && interrupt->wanted(interrupt->context))
      __atomic_store_n(&interrupt->last_step, count, __ATOMIC_RELAXED);
    ++count;
    return true;
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
