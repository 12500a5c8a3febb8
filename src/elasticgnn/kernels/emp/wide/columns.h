// Sums over the neighbours of every node, by blocks of the nodes that they lead to.
//
// Where a node has many neighbours anywhere, the rows that it gathers come from beyond a core's own
// cache, each of them as often as it has neighbours. Block by block they stay in it: each node is
// visited once for every block, and its sum so far lies where the result will be. The slots are
// copied in the order of the visits, once per call: in the order of the nodes every visit would
// begin at a line of its own.
#pragma once

#include <type_traits>

#include "emp/wide/rows.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class T>
struct ColumnBlocks {
  const EmpProblem<T>& problem;
  std::int64_t count = 1;
  // Of the visits, all nodes of the first block before those of the second one:
  std::int64_t* first_slot = nullptr;  // (count, n), and the end
  std::int32_t* column = nullptr;      // (2m)
  T* weight = nullptr;                 // (2m), or null: all are 1

  // As many blocks as it takes for the rows of one to leave room for others in the cache, if the
  // visits are worth their time. The graph and the width decide, so every sum has one order.
  template <class Row>
  ColumnBlocks(const EmpProblem<T>& problem_, const Row& row, bool is_weighted, Arena& arena)
      : problem(problem_) {
    const std::int64_t n = problem.num_nodes, room = tuning.cache_bytes / 8 * 5 + 1,
                       wanted = n * row.bytes() / room + 1,
                       most = 2 * problem.num_edges / (n * tuning.slots_per_visit);
    if (row.bytes() <= kBytesAboveForBlocks || wanted > 2 * most) return;
    count = wanted < most ? wanted : most;
    if (count == 1) return;
    first_slot = arena.take<std::int64_t>(count * n + 1);
    column = arena.take<std::int32_t>(2 * problem.num_edges);
    if (is_weighted) weight = arena.take<T>(2 * problem.num_edges);
  }

  std::int64_t bound(std::int64_t block) const { return problem.num_nodes * (block + 1) / count; }

  // Copies the slots, whose columns ascend at each node.
  void fill(const T* slot_weight, int threads) const {
    if (count == 1) return;
    const std::int64_t n = problem.num_nodes;
    const auto each_visit = [&](const auto& body) {
#pragma omp parallel for schedule(static) num_threads(threads)
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t p = problem.start[i];
        for (std::int64_t b = 0; b < count; ++b) {
          const std::int64_t first = p, limit = bound(b);
          while (p < problem.start[i + 1] && problem.column[p] < limit) ++p;
          body(b * n + i, first, p);
        }
      }
    };
    each_visit([&](std::int64_t visit, std::int64_t first, std::int64_t last) {
      first_slot[visit + 1] = last - first;
    });
    first_slot[0] = 0;
    for (std::int64_t visit = 0; visit < count * n; ++visit)
      first_slot[visit + 1] += first_slot[visit];
    each_visit([&](std::int64_t visit, std::int64_t first, std::int64_t last) {
      for (std::int64_t p = first, to = first_slot[visit]; p < last; ++p, ++to) {
        column[to] = problem.column[p];
        if (weight) weight[to] = slot_weight[p];
      }
    });
  }

  // What a gather of the visits reads.
  Tables<T> tables(const Plan<T>& plan) const {
    Tables<T> g(plan);
    if (count > 1) g.column = column, g.slot_weight = weight, g.far_nodes = false;
    return g;
  }

  // node(i, first, last, is_first, is_last) for the slots of the nodes low .. high - 1 that lead to
  // one block; the first and the last visit of a node come even if there are none.
  template <class Node>
  ELASTICGNN_INLINE void visit(std::int64_t low, std::int64_t high, const Node& node) const {
    const std::true_type yes{};
    const std::false_type no{};
    const std::int64_t* const start = problem.start;
    if (count == 1) {
      for (std::int64_t i = low; i < high; ++i) node(i, start[i], start[i + 1], yes, yes);
      return;
    }
    const auto block = [&](std::int64_t b, auto is_first, auto is_last) ELASTICGNN_INLINE_LAMBDA {
      const std::int64_t* const first = first_slot + b * problem.num_nodes;
      for (std::int64_t i = low; i < high; ++i)
        if (is_first || is_last || first[i] < first[i + 1])
          node(i, first[i], first[i + 1], is_first, is_last);
    };
    block(0, yes, no);
    for (std::int64_t b = 1; b + 1 < count; ++b) block(b, no, no);
    block(count - 1, no, yes);
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
