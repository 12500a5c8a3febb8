// Rows that a projection moved, collected block by block and then kept in memory of exactly their size.
#pragma once

#include <cstring>

#include "emp_plan.h"

namespace elasticgnn::ISA_NAMESPACE {

template <class T>
struct Outbox {
  const EmpOutside<T>* outside;
  std::int64_t size = 0;  // numbers that the rows of a block take at most
  T* rows = nullptr;      // (threads, size)
  bool failed = false;    // there was no memory

  Outbox(const EmpProblem<T>& problem, const EmpOutside<T>* outside_, Arena& arena) : outside(outside_) {
    if (!outside) return;
    size = most_edges(problem) * (problem.width + 1);
    rows = arena.take<T>(problem.threads * size);
  }

  T* begin() const { return rows + omp_get_thread_num() * size; }

  // Keeps what lies in this thread's rows up to `end`.
  void send(int step, int block, const T* end) {
    const std::size_t count = std::size_t(end - begin());
    T* home = count ? outside->more(outside->context, count) : nullptr;
    if (home) std::memcpy(home, begin(), count * sizeof(T));
    else if (count) {
#pragma omp atomic write
      failed = true;
    }
    outside->rows[step * kMaxBlocks + block] = home;
  }

  // Edges of a block: its share, and those of the node with which it ends.
  static std::int64_t most_edges(const EmpProblem<T>& problem) {
    std::int64_t degree = 0;
    for (std::int64_t i = 0; i < problem.num_nodes; ++i) {
      const std::int64_t slots = problem.start[i + 1] - problem.start[i];
      degree = slots > degree ? slots : degree;
    }
    const int count = count_blocks(problem.num_nodes);
    const std::int64_t share = (problem.num_edges + kNodeCost * problem.num_nodes) / count + 1 + degree;
    return share < problem.num_edges ? share : problem.num_edges;
  }
};

}  // namespace elasticgnn::ISA_NAMESPACE
