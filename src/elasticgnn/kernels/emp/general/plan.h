// Per-call preparation: scratch memory, slot weights, and fixed blocks of nodes for the threads.
#pragma once

#include <omp.h>

#include <cstddef>
#include <cstdint>

#include "emp/problem.h"
#include "simd/tuning.h"
#include "simd/vec.h"

namespace elasticgnn::ISA_NAMESPACE {

// Hands out 64-byte aligned pieces of one buffer; with a null base it only counts.
struct Arena {
  char* base;
  std::size_t used = 0;

  template <class T>
  T* take(std::int64_t count) {
    const std::size_t offset = used;
    used += (std::size_t(count) * sizeof(T) + 63) / 64 * 64;
    return base == nullptr ? nullptr : reinterpret_cast<T*>(base + offset);
  }
};

// Blocks depend on the graph alone, never on the number of threads: a sum over blocks has one
// order.
struct Blocks {
  int count;
  std::int64_t bound[kMaxBlocks + 1];
};

template <class T>
struct Plan {
  const EmpProblem<T>* problem;
  std::int64_t* first_edge;  // (n + 1): first edge whose tail is >= i (make_plan)
  const T* slot_weight;      // (2m), or null: all weights are 1
  const T* total_weight;     // (n), or null
  Blocks by_slot;
  Blocks by_tail, by_head;  // (make_plan)
  int threads;
  bool is_local;  // few nodes have edges that start at a node of another thread (make_plan)

  std::int64_t row() const { return problem->runs * problem->width; }
};

// Prefetches a row, or the beginning of a long one.
template <class T>
ELASTICGNN_INLINE void prefetch_row(const T* row, std::int64_t stride) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  __builtin_prefetch(row);
  for (std::int64_t c = kLine; c < stride && c < 8 * kLine; c += kLine) __builtin_prefetch(row + c);
}

// What a sweep reads, copied into each sweep's own frame: stores of numbers could otherwise change
// these pointers for all the compiler knows, and it would load them again for every edge.
template <class T>
struct Tables {
  const std::int64_t *start, *first_edge;
  const std::int32_t *column, *edge;
  const T *slot_weight, *total_weight, *scale, *x;
  std::int64_t row, last_slot;
  bool far_nodes, far_edges;

  explicit Tables(const Plan<T>& plan)
      : start(plan.problem->start),
        first_edge(plan.first_edge),
        column(plan.problem->column),
        edge(plan.problem->edge),
        slot_weight(plan.slot_weight),
        total_weight(plan.total_weight),
        scale(plan.problem->scale),
        x(plan.problem->x),
        row(plan.row()),
        last_slot(2 * plan.problem->num_edges - 1) {
    far_nodes = is_far(plan.problem->num_nodes);
    far_edges = is_far(plan.problem->num_edges);
  }
  ELASTICGNN_INLINE std::int64_t middle(std::int64_t i) const {  // first slot of i that leads up
    return start[i + 1] - (first_edge[i + 1] - first_edge[i]);
  }
  // Whether no edge that ends at i starts before node `first`.
  ELASTICGNN_INLINE bool starts_within(std::int64_t i, std::int64_t first) const {
    return start[i] == middle(i) || column[start[i]] >= first;
  }
  ELASTICGNN_INLINE T total(std::int64_t i) const {
    return total_weight ? total_weight[i] : T(start[i + 1] - start[i]);
  }
  ELASTICGNN_INLINE T weight(std::int64_t p) const { return slot_weight ? slot_weight[p] : T(1); }
  // Rows far ahead are prefetched: the gathers of a large graph miss the near caches.
  ELASTICGNN_INLINE void fetch(const T* table, const std::int32_t* index, std::int64_t p,
                               std::int64_t stride) const {
    const std::int64_t ahead = stride < std::int64_t(64 / sizeof(T)) ? kAheadShortRows : kAheadRows;
    prefetch_row(table + index[p + ahead < last_slot ? p + ahead : last_slot] * stride, stride);
  }
  // Whether a table of this many rows is larger than a core's own cache.
  bool is_far(std::int64_t count) const {
    return count * row * std::int64_t(sizeof(T)) > tuning.cache_bytes / 4 * 3;
  }
};

inline int count_blocks(std::int64_t num_nodes) {
  const std::int64_t blocks = num_nodes / 32;
  return int(blocks < 1 ? 1 : blocks > kMaxBlocks ? kMaxBlocks : blocks);
}

template <class Prefix>
Blocks balance(std::int64_t num_nodes, const Prefix& prefix) {
  Blocks blocks;
  blocks.count = count_blocks(num_nodes);
  const std::int64_t all = prefix(num_nodes) + kNodeCost * num_nodes;
  blocks.bound[0] = 0;
  for (int b = 1; b <= blocks.count; ++b) {
    const std::int64_t target = all * b / blocks.count;
    std::int64_t low = blocks.bound[b - 1], high = num_nodes;
    while (low < high) {
      const std::int64_t half = (low + high) / 2;
      if (prefix(half) + kNodeCost * half < target) low = half + 1;
      else high = half;
    }
    blocks.bound[b] = b == blocks.count ? num_nodes : low;
  }
  return blocks;
}

// The first block of thread `me` among `threads`, and its first node.
inline int first_block(const Blocks& blocks, int threads, int me) {
  return int(std::int64_t(blocks.count) * me / threads);
}
inline std::int64_t first_node(const Blocks& blocks, int threads, int me) {
  return blocks.bound[first_block(blocks, threads, me)];
}

template <class T>
bool all_ones(const T* weight, std::int64_t size) {
  std::int64_t others = 0;
  for (std::int64_t e = 0; e < size; ++e) others += weight[e] != T(1);
  return others == 0;
}

// How the threads share sweeps over the slots of all nodes, whose weights are all 1.
template <class T>
Plan<T> make_slot_plan(const EmpProblem<T>& problem) {
  Plan<T> plan{};
  const std::int64_t n = problem.num_nodes;
  plan.problem = &problem;
  const std::int64_t work = (2 * problem.num_edges + 3 * n) * (plan.row() + 8);
  const std::int64_t worth = tuning.work_per_thread, useful = work / worth < 1 ? 1 : work / worth;
  plan.threads = int(useful < problem.threads ? useful : problem.threads);
  const auto* start = problem.start;
  plan.by_slot = balance(n, [=](std::int64_t i) { return start[i]; });
  return plan;
}

// The same, and which slots are those of tails. `weighted` decides the layout, so it is asked for
// before the memory is.
template <class T>
Plan<T> make_plan(const EmpProblem<T>& problem, bool weighted, Arena& arena) {
  Plan<T> plan = make_slot_plan(problem);
  const std::int64_t n = problem.num_nodes;
  T* const slot_weight = weighted ? arena.take<T>(2 * problem.num_edges) : nullptr;
  T* const total_weight = weighted ? arena.take<T>(n) : nullptr;
  plan.slot_weight = slot_weight, plan.total_weight = total_weight;
  plan.first_edge = arena.take<std::int64_t>(n + 1);
  if (arena.base == nullptr) return plan;

  if (weighted)
    fill_slot_weights(n, problem.start, problem.edge, problem.weight, slot_weight, total_weight);
  std::int64_t edges = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    plan.first_edge[i] = edges;
    std::int64_t low = problem.start[i], high = problem.start[i + 1];
    while (low < high) {  // columns ascend: find the first above i
      const std::int64_t half = (low + high) / 2;
      if (problem.column[half] < i) low = half + 1;
      else high = half;
    }
    edges += problem.start[i + 1] - low;
  }
  plan.first_edge[n] = edges;
  const auto* start = problem.start;
  const auto* first = plan.first_edge;
  plan.by_tail = balance(n, [=](std::int64_t i) { return first[i]; });
  plan.by_head = balance(n, [=](std::int64_t i) { return start[i] - first[i]; });
  const Tables<T> g(plan);
  std::int64_t others = 0;
  for (int t = 1; t < plan.threads; ++t)
    for (std::int64_t low = first_node(plan.by_tail, plan.threads, t), i = low;
         i < first_node(plan.by_tail, plan.threads, t + 1); ++i)
      others += !g.starts_within(i, low);
  plan.is_local = 8 * others < n;
  return plan;
}

// Calls body(block, first node, last node) for the blocks of this thread.
template <class Body>
ELASTICGNN_INLINE void for_blocks(const Blocks& blocks, const Body& body) {
  const int threads = omp_get_num_threads(), me = omp_get_thread_num();
  const int high = first_block(blocks, threads, me + 1);
  for (int b = first_block(blocks, threads, me); b < high; ++b)
    body(b, blocks.bound[b], blocks.bound[b + 1]);
}

// to = from, by every thread of a team
template <class T>
void copy_rows(const Blocks& blocks, const T* from, T* to, std::int64_t row) {
  for_blocks(blocks, [&](int, std::int64_t low, std::int64_t high) {
    for (std::int64_t c = low * row; c < high * row; ++c) to[c] = from[c];
  });
#pragma omp barrier
}

}  // namespace elasticgnn::ISA_NAMESPACE
