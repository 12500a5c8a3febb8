// The edges of one flipped graph and what all predictions on flipped graphs share. A thread takes a
// graph as a whole: its edge list is the common one without the removed edges and with the new ones
// behind it, and all it needs lies in that thread's own cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "emp/general/plan.h"
#include "flipped/problem.h"
#include "simd/vec.h"
#include "threads/steps.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

using P = Pack<float, kFlippedRow>;
using Vec = P::Vec;

// The edges of one flipped graph, and its scales 1/sqrt(1 + degree).
struct Edges {
  std::int64_t count = 0;
  std::int32_t *tail, *head;
  std::uint8_t* removed;
  float* scale;

  Edges(const FlippedGraphs& all, Arena& arena)
      : tail(arena.take<std::int32_t>(all.num_edges + all.most_flips)),
        head(arena.take<std::int32_t>(all.num_edges + all.most_flips)),
        removed(arena.take<std::uint8_t>(all.num_edges)),
        scale(arena.take<float>(all.num_nodes)) {}

  void add(std::int32_t one, std::int32_t other) {
    tail[count] = one, head[count] = other, ++count;
  }

  void flip(const FlippedGraphs& all, std::int64_t graph) {
    std::memset(removed, 0, std::size_t(all.num_edges));
    const std::int32_t* const end = all.flips + 2 * all.first_flip[graph + 1];
    const auto place = [&](const std::int32_t* pair) {
      const std::int32_t* const last = all.head + all.first_edge[pair[0] + 1];
      const std::int32_t* const found =
          std::lower_bound(all.head + all.first_edge[pair[0]], last, pair[1]);
      return found < last && *found == pair[1] ? found - all.head : std::ptrdiff_t(-1);
    };
    for (const std::int32_t* pair = all.flips + 2 * all.first_flip[graph]; pair < end; pair += 2)
      if (const auto edge = place(pair); edge >= 0) removed[edge] = 1;
    count = 0;
    for (std::int64_t e = 0; e < all.num_edges; ++e)
      if (!removed[e]) add(all.tail[e], all.head[e]);
    for (const std::int32_t* pair = all.flips + 2 * all.first_flip[graph]; pair < end; pair += 2)
      if (place(pair) < 0) add(pair[0], pair[1]);
    std::fill(scale, scale + all.num_nodes, 1.0f);
    for (std::int64_t e = 0; e < count; ++e) scale[tail[e]] += 1, scale[head[e]] += 1;
    for (std::int64_t i = 0; i < all.num_nodes; ++i) scale[i] = 1 / std::sqrt(scale[i]);
  }
};

ELASTICGNN_INLINE void add_to(float* row, Vec value) { P::store(row, P::load(row) + value); }

// total_i += sum of u_j over the neighbours j of i, rows of `Parts` vectors.
template <int Parts>
void add_neighbours(const Edges& edges, const float* __restrict u, float* __restrict total) {
  for (std::int64_t e = 0; e < edges.count; ++e) {
    const std::int64_t t = edges.tail[e] * std::int64_t(Parts * kFlippedRow),
                       h = edges.head[e] * std::int64_t(Parts * kFlippedRow);
    for (int k = 0; k < Parts * kFlippedRow; k += kFlippedRow)
      add_to(total + t + k, P::load(u + h + k));
    for (int k = 0; k < Parts * kFlippedRow; k += kFlippedRow)
      add_to(total + h + k, P::load(u + t + k));
  }
}

inline void hand_out(const FlippedGraphs& all, std::int64_t graph, const float* rows,
                     std::int64_t stride, const FlippedResult& result) {
  for (std::int64_t i = 0; i < all.num_nodes; ++i) {
    const float* const row = rows + i * stride;
    const std::int64_t place = graph * all.num_nodes + i;
    if (result.rows != nullptr)
      std::memcpy(result.rows + place * result.width, row,
                  std::size_t(result.width) * sizeof(float));
    if (result.label != nullptr)
      result.label[place] = std::uint8_t(std::max_element(row, row + result.width) - row);
  }
}

template <class Work, class Task, class Body>
std::size_t each_graph(const FlippedGraphs& all, const Task& task, char* scratch, Body&& body) {
  Arena size{nullptr};
  Edges(all, size), Work(all, task, size);
  if (scratch == nullptr) return size.used * std::size_t(all.threads);
#pragma omp parallel num_threads(all.threads)
  {
    Arena arena{scratch + size.used * std::size_t(omp_get_thread_num())};
    Edges edges(all, arena);
    const Work work(all, task, arena);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t graph = 0; graph < all.graphs; ++graph) {
      if (is_over(all.interrupt)) continue;
      edges.flip(all, graph);
      body(edges, work, graph);
    }
  }
  return size.used * std::size_t(all.threads);
}

}  // namespace
}  // namespace elasticgnn::ISA_NAMESPACE
