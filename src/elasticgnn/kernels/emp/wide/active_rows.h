// Active rows, collected chunk by chunk and then saved in memory of exactly their size.
#pragma once

#include <cstring>
#include <limits>

#include "emp/general/plan.h"
#include "emp/wide/problem.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class T>
struct ActiveRowWriter {
  const ActiveRows<T>* active;
  std::int64_t num_edges, num_chunks, size;
  T* buffer;                // (threads, size)
  int failed_step = kNone;  // in which there was no memory
  static constexpr int kNone = std::numeric_limits<int>::max();

  ActiveRowWriter(const EmpProblem<T>& problem, const ActiveRows<T>* active_, std::int64_t chunks,
                  std::int64_t padding, Arena& arena)
      : active(active_),
        num_edges(problem.num_edges),
        num_chunks(chunks),
        size(kChunkEdges * (problem.width + 1) + padding),
        buffer(active_ ? arena.take<T>(problem.threads * size) : nullptr) {}

  T* begin() const { return buffer + omp_get_thread_num() * size; }
  std::uint8_t* mask(int step) const { return active->mask + step * num_edges; }

  // Whether to leave before a step. A thread that is ahead may have failed in this very step, which
  // the others then still do: all of a team meet the same barriers.
  bool failed_before(int step) const {
    int failed;
#pragma omp atomic read
    failed = failed_step;
    return failed < step;
  }

  // Saves what lies in this thread's buffer up to `end`.
  void write(int step, std::int64_t chunk, const T* end) {
    const std::size_t count = std::size_t(end - begin());
    T* const home = count ? active->more(active->context, count) : nullptr;
    if (home) std::memcpy(home, begin(), count * sizeof(T));
    else if (count) {
#pragma omp atomic write
      failed_step = step;
    }
    active->rows[step * num_chunks + chunk] = home;
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
