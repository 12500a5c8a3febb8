// What the packed sweeps of both directions share.
#pragma once

#include "emp/packed/five.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)

#include <omp.h>

#include <type_traits>

#include "emp/packed/problem.h"
#include "emp/general/plan.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// The chunks and nodes of the calling thread: each has as many registers as the others.
struct Team {
  std::int64_t low, high;  // chunks of this thread
  std::int32_t low_node, high_node;
  explicit Team(const PackedGraph& graph)
      : low(bound(graph, omp_get_thread_num())),
        high(bound(graph, omp_get_thread_num() + 1)),
        low_node(graph.chunk[low]),
        high_node(graph.chunk[high]) {}

  static std::int64_t bound(const PackedGraph& graph, int part) {
    if (part == omp_get_num_threads())
      return graph.num_chunks;  // nodes without registers may be the last
    const std::int64_t target = graph.num_groups * part / omp_get_num_threads();
    std::int64_t low = 0, high = graph.num_chunks;
    while (low < high) {
      const std::int64_t half = (low + high) / 2;
      if (graph.group[graph.chunk[half]] < target) low = half + 1;
      else high = half;
    }
    return low;
  }
};

// Prefetches a register far ahead of one that a sweep reads and writes: beyond the chunk, whose end
// stops the hardware's prefetcher. What lies behind the last one is not touched.
ELASTICGNN_INLINE void prefetch_register(const float* registers, std::int64_t g) {
  __builtin_prefetch(registers + (g + kAheadRegisters) * 16, 1, 2);
}

// Whether the node rows are too many to stay near while a dual streams by.
template <int P>
bool is_far(const PackedGraph& g) {
  return g.num_nodes * kRow<P> * std::int64_t(sizeof(float)) > tuning.cache_bytes / 2;
}

// Prefetches the rows at the other ends of four registers, some registers ahead of g.
template <int P>
ELASTICGNN_INLINE void prefetch_neighbours(const float* table, const std::int32_t* column,
                                           std::int64_t g, std::int64_t num_groups) {
  constexpr std::int64_t G = Packed<P>::G;
  if (g + kAheadNeighbours + 4 > num_groups) return;
  for (std::int64_t k = 0; k < 4 * G; ++k)
    __builtin_prefetch(table + column[(g + kAheadNeighbours) * G + k]);
}

// Weights of the slots of nodes low .. high - 1 (0 for those that fill up), if there are any.
template <int P>
void spread_weights(const PackedGraph& g, std::int32_t low, std::int32_t high, float* weight) {
  if (!g.weight) return;
  const std::int64_t first = std::int64_t(g.group[low]) * Packed<P>::G,
                     last = std::int64_t(g.group[high]) * Packed<P>::G;
  for (std::int64_t k = first; k < last; ++k)
    weight[k] = g.edge[k] < 0 ? 0.0f : g.weight[g.edge[k]];
}

// Calls body(node, sum of the weights of its slots) for the nodes of a chunk; without weights the
// slots that fill up count too, as everywhere.
template <int P, class Body>
ELASTICGNN_INLINE void for_totals(const PackedGraph& g, std::int64_t chunk, const float* weight,
                                  const Body& body) {
  constexpr int G = Packed<P>::G;
  const std::int32_t share = g.share[chunk], low = g.chunk[chunk];
  std::int64_t slot = std::int64_t(g.group[low]) * G;
  for (std::int32_t i = low; i < g.chunk[chunk + 1]; ++i) {
    const std::int64_t end = slot + (share > 1 ? G / share : (g.group[i + 1] - g.group[i]) * G);
    float total = weight ? 0.0f : float(end - slot);
    for (; weight && slot < end; ++slot) total += weight[slot];
    slot = end;
    body(i, total);
  }
}

// to[i] = factor_i from[order[i]], padded with zeros
template <int P, class Factor>
ELASTICGNN_INLINE void pad_rows(const PackedProblem& problem, std::int32_t low, std::int32_t high,
                                const float* from, float* to, const Factor& factor) {
  using Row = Pack<float, kRow<P>>;
  for (std::int64_t i = low; i < high; ++i) {
    const float* row = from + problem.graph.order[i] * problem.stride;
    Row::store(to + i * kRow<P>, Row::load(row, int(problem.width)) * factor(i));
  }
}

// to[order[i]] = value(i, c)
template <class Value>
ELASTICGNN_INLINE void hand_back(const PackedProblem& problem, std::int32_t low, std::int32_t high,
                                 float* to, const Value& value) {
  for (std::int64_t i = low; i < high; ++i) {
    float* row = to + problem.graph.order[i] * problem.stride;
    for (std::int64_t c = 0; c < problem.width; ++c) row[c] = value(i, c);
  }
}

// Sum of load(register) over a node's registers. Pairs: two sums, because an addition waits for the
// one before it; that pays where the loads are near.
template <bool Pairs, class Load>
ELASTICGNN_INLINE __m512 sum_registers(std::int64_t g, std::int64_t last, const Load& load) {
  __m512 sum = _mm512_setzero_ps();
  if constexpr (Pairs) {
    __m512 odd = _mm512_setzero_ps();
    for (; g + 2 <= last; g += 2)
      sum = _mm512_add_ps(sum, load(g)), odd = _mm512_add_ps(odd, load(g + 1));
    sum = _mm512_add_ps(sum, odd);
  }
  for (; g < last; ++g) sum = _mm512_add_ps(sum, load(g));
  return sum;
}

// The registers of node i and those that share with it end here.
template <int Share>
ELASTICGNN_INLINE std::int64_t end_of(const std::int32_t* group, std::int64_t i) {
  return Share > 1 ? group[i] + 1 : group[i + 1];
}

// The rows of a table at the other ends of register g, times their weights.
template <int P, bool Weighted>
ELASTICGNN_INLINE __m512 neighbours(const float* table, const std::int32_t* column,
                                    const float* weight, std::int64_t g) {
  using V = Packed<P>;
  const __m512 rows = V::gather(table, column + g * V::G);
  return Weighted ? _mm512_mul_ps(rows, V::spread(weight + g * V::G)) : rows;
}

template <int P, int Share>
constexpr int share_of(Nodes<P, Share>) {
  return Share;
}

// Calls body(Nodes<P, share>{}).
template <int P, class Body>
ELASTICGNN_INLINE void with_share(int share, const Body& body) {
  if constexpr (P == 4) {
    if (share == 2) return body(Nodes<P, 2>{});
  }
  if constexpr (P <= 8) {
    if (share > 1) return body(Nodes<P, Packed<P>::G>{});
  }
  body(Nodes<P, 1>{});
}

// Calls body(weighted, box) with both known to the compiler.
template <class Body>
ELASTICGNN_INLINE void with_traits(const PackedProblem& problem, const Body& body) {
  using std::false_type, std::true_type;
  if (problem.graph.weight)
    return problem.box ? body(true_type{}, true_type{}) : body(true_type{}, false_type{});
  problem.box ? body(false_type{}, true_type{}) : body(false_type{}, false_type{});
}

template <class Body>
ELASTICGNN_INLINE std::size_t with_lanes(std::int64_t width, const Body& body) {
  if (width <= 4) return body(Packed<4>{});
  if (width == 5) return body(Packed<5>{});
  if (width <= 8) return body(Packed<8>{});
  return body(Packed<16>{});
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE

#endif
