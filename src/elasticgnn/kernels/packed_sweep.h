// What the packed sweeps of both directions share.
#pragma once

#include "packed_rows.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)

#include <omp.h>

#include "emp_packed.h"
#include "emp_plan.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

constexpr int kMostThreads = 64;

// The chunks and nodes of the calling thread.
struct Team {
  int part, parts;
  std::int64_t low, high;          // chunks of this thread
  std::int32_t low_node, high_node;
  explicit Team(const PackedGraph& graph)
      : part(omp_get_thread_num()), parts(omp_get_num_threads()),
        low(graph.num_chunks * part / parts), high(graph.num_chunks * (part + 1) / parts),
        low_node(graph.chunk[low]), high_node(graph.chunk[high]) {}
};

// Weights of the slots of nodes low .. high - 1 (0 for those that fill up), if there are any.
template <int P>
void spread_weights(const PackedGraph& g, std::int32_t low, std::int32_t high, float* weight) {
  if (!g.weight) return;
  const std::int64_t first = std::int64_t(g.group[low]) * Packed<P>::G, last = std::int64_t(g.group[high]) * Packed<P>::G;
  for (std::int64_t k = first; k < last; ++k) weight[k] = g.edge[k] < 0 ? 0.0f : g.weight[g.edge[k]];
}

// Sum of the weights of node i's slots; without weights those that fill up count too, as everywhere.
template <int P>
float total_weight(const PackedGraph& g, std::int32_t i, const float* weight) {
  constexpr int G = Packed<P>::G;
  if (!weight) return float((g.group[i + 1] - g.group[i]) * G);
  float total = 0;
  for (std::int64_t k = std::int64_t(g.group[i]) * G; k < std::int64_t(g.group[i + 1]) * G; ++k) total += weight[k];
  return total;
}

// to[i] = factor_i from[order[i]], padded with zeros
template <int P, class Factor>
ELASTICGNN_INLINE void pad_rows(const PackedProblem& problem, std::int32_t low, std::int32_t high, const float* from,
                                float* to, const Factor& factor) {
  const unsigned lanes = (1u << problem.width) - 1;
  for (std::int64_t i = low; i < high; ++i) {
    const float* row = from + problem.graph.order[i] * problem.stride;
    Row<P>::store(to + i * P, Row<P>::load(row, lanes) * factor(i));
  }
}

// to[order[i]] = value(i, c)
template <class Value>
ELASTICGNN_INLINE void hand_back(const PackedProblem& problem, std::int32_t low, std::int32_t high, float* to,
                                 const Value& value) {
  for (std::int64_t i = low; i < high; ++i) {
    float* row = to + problem.graph.order[i] * problem.stride;
    for (std::int64_t c = 0; c < problem.width; ++c) row[c] = value(i, c);
  }
}

// Sum over a node's registers of `load(register) * weight`, in every row. Pairs: two sums, because an addition
// waits for the one before it; that pays where the loads are near.
template <int P, bool Weighted, bool Pairs, class Load>
ELASTICGNN_INLINE __m512 node_sum(std::int32_t first, std::int32_t last, const float* weight, const Load& load) {
  const auto add = [=](__m512 sum, std::int64_t g) {
    if constexpr (Weighted) return _mm512_fmadd_ps(load(g), Packed<P>::spread(weight + g * Packed<P>::G), sum);
    else return _mm512_add_ps(sum, load(g));
  };
  __m512 sum = _mm512_setzero_ps();
  std::int64_t g = first;
  if constexpr (Pairs) {
    __m512 odd = _mm512_setzero_ps();
    for (; g + 2 <= last; g += 2) sum = add(sum, g), odd = add(odd, g + 1);
    sum = _mm512_add_ps(sum, odd);
  }
  for (; g < last; ++g) sum = add(sum, g);
  return Packed<P>::across(sum);
}

template <class Body>
ELASTICGNN_INLINE std::size_t with_lanes(std::int64_t width, const Body& body) {
  if (width <= 4) return body(Packed<4>{});
  if (width <= 8) return body(Packed<8>{});
  return body(Packed<16>{});
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE

#endif
