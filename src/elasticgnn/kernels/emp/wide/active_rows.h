// Active rows, collected chunk by chunk and then saved in memory of exactly their size.
#pragma once

#include <cstring>

#include "emp/general/plan.h"
#include "emp/wide/problem.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class T>
struct ActiveRowWriter {
  const ActiveRows<T>* active;
  std::int64_t num_edges, num_chunks, size;
  T* buffer;            // (threads, size)
  bool failed = false;  // there was no memory

  ActiveRowWriter(const EmpProblem<T>& problem, const ActiveRows<T>* active_, std::int64_t chunks,
                  std::int64_t padding, Arena& arena)
      : active(active_),
        num_edges(problem.num_edges),
        num_chunks(chunks),
        size(kChunkEdges * (problem.width + 1) + padding),
        buffer(active_ ? arena.take<T>(problem.threads * size) : nullptr) {}

  T* begin() const { return buffer + omp_get_thread_num() * size; }
  std::uint8_t* mask(int step) const { return active->mask + step * num_edges; }

  // Saves what lies in this thread's buffer up to `end`.
  void write(int step, std::int64_t chunk, const T* end) {
    const std::size_t count = std::size_t(end - begin());
    T* const home = count ? active->more(active->context, count) : nullptr;
    if (home) std::memcpy(home, begin(), count * sizeof(T));
    else if (count) {
#pragma omp atomic write
      failed = true;
    }
    active->rows[step * num_chunks + chunk] = home;
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
