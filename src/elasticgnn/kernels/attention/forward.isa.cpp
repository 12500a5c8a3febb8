// out_i = sum over neighbours j of factor_ij softmax_j(leaky(target_i + source_j)) rows_j, head by
// head; nn/attention.py states the same in plain torch. Each node's results are one thread's work
// and no sum depends on the number of threads.
#include "attention/heads.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

// Not yet normalised weights of one node's neighbours, and those of them above 0; both times the
// factors, if there are any.
struct Weights {
  float *all, *above;
};

template <int G, bool Save>
void multiply_factors(const AttentionForward& p, const HeadGroup& g, std::int64_t node,
                      Weights weights) {
  const std::int64_t begin = p.graph.start[node], count = p.graph.start[node + 1] - begin;
  for (std::int64_t e = 0; e < count; ++e) {
    float factor[G];
    pack_heads<G>(g, p.factor, begin + e, factor);
    for (int k = 0; k < G; ++k) weights.all[e * G + k] *= factor[k];
    if constexpr (Save)
      for (int k = 0; k < G; ++k) weights.above[e * G + k] *= factor[k];
  }
}

// V vectors of the node's row, from vector `first` on.
template <int G, int V, bool Save>
void add_neighbours(const AttentionForward& p, const HeadGroup& g, std::int64_t number,
                    std::int64_t node, std::int64_t first, Weights weights, Vec16 inverse,
                    float* row) {
  Vec16 total[V] = {}, above[V] = {};
  const std::int64_t base = number * p.graph.rows, begin = p.graph.start[node];
  const std::int64_t count = p.graph.start[node + 1] - begin;
  const std::int32_t* __restrict column = p.graph.column + begin;
  const float* __restrict rows = p.packed_rows + base * g.width + first * LANES;
  for (std::int64_t e = 0; e < count; ++e) {
    const float* from = rows + column[e] * g.width;
    const Vec16 weight = per_head<G>(weights.all + e * G);
    Vec16 part = {};
    if constexpr (Save) part = per_head<G>(weights.above + e * G);
    for (int v = 0; v < V; ++v) {
      const Vec16 x = load(from + v * LANES);
      total[v] += weight * x;
      if constexpr (Save) above[v] += part * x;
    }
  }
  const std::int64_t at = (base + node) * g.width + first * LANES;
  for (int v = 0; v < V; ++v) {
    store(row + (first + v) * LANES, total[v] * inverse);
    if constexpr (Save) store(p.packed_out + at + v * LANES, total[v] * inverse);
    if constexpr (Save) store(p.packed_above + at + v * LANES, above[v] * inverse);
  }
}

// Fills `weights`; returns 1 / denominator. The leaky ReLU rises, so the largest score is the one
// of the largest source.
template <int G, bool Save>
Vec16 weigh_neighbours(const AttentionForward& p, const HeadGroup& g, std::int64_t node,
                       Weights weights) {
  const std::int64_t begin = p.graph.start[node], count = (p.graph.start[node + 1] - begin) * G;
  const std::int64_t padded = whole_lanes(count);
  const std::int32_t* column = p.graph.column + begin;
  float* source = weights.all;
  for (std::int64_t q = 0; q < count; q += G)
    copy_heads<G>(source + q, p.scratch + column[q / G] * G);
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  for (std::int64_t q = count; q < padded; ++q) source[q] = kMinusInfinity;

  Vec16 top = splat(kMinusInfinity);
  for (std::int64_t q = 0; q < padded; q += LANES) top = larger(top, load(source + q));
  float own[G];
  pack_heads<G>(g, p.target, node, own);
  const Vec16 target = per_head<G>(own), most = leaky(target + fold_larger<G>(top));
  Vec16 sum = {}, above = {};
  for (std::int64_t q = 0; q < padded; q += LANES) {
    const Vec16 score = target + load(source + q);
    const Vec16 weight = exponential(leaky(score) - most);
    store(weights.all + q, weight);
    sum += weight;
    if constexpr (Save) {
      const Vec16 part = score > 0 ? weight : Vec16{};
      store(weights.above + q, part);
      above += part;
    }
  }
  const Vec16 inverse = 1.0f / (fold_sum<G>(sum) + 1e-16f);
  if constexpr (Save) {
    unpack_heads<G>(g, most, p.most, node);
    unpack_heads<G>(g, inverse, p.inverse, node);
    unpack_heads<G>(g, fold_sum<G>(above) * inverse, p.above, node);
  }
  return inverse;
}

template <int G, bool Save>
void attend_group(const AttentionForward& p, std::int64_t number) {
  const HeadGroup g = head_group(p.shape, number);
  const std::int64_t nodes = p.graph.rows, vectors = g.width / LANES;
  const std::int64_t slots = whole_lanes(most_entries(p.graph, 1) * G);
#pragma omp parallel num_threads(p.threads)
  {
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < nodes; ++i) {
      pack_row<G>(g, p.rows, i, p.packed_rows + (number * nodes + i) * g.width);
      pack_heads<G>(g, p.source, i, p.scratch + i * G);
    }
    Zeroed<float> row(g.width), all(slots), above(Save ? slots : 1);
    const Weights weights{all.data, above.data};
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t i = 0; i < nodes; ++i) {
      const Vec16 inverse = weigh_neighbours<G, Save>(p, g, i, weights);
      if (p.factor) multiply_factors<G, Save>(p, g, i, weights);
      std::int64_t v = 0;
      for (; v + 4 <= vectors; v += 4)
        add_neighbours<G, 4, Save>(p, g, number, i, v, weights, inverse, row.data);
      for (; v < vectors; ++v)
        add_neighbours<G, 1, Save>(p, g, number, i, v, weights, inverse, row.data);
      unpack_row<G>(g, row.data, p.out, i);
    }
  }
}

}  // namespace

void attention_forward(const AttentionForward& p) {
  const bool save = p.packed_out != nullptr;
  for (std::int64_t number = 0; number < group_count(p.shape); ++number) {
    if (group_size(p.shape) == 1)
      save ? attend_group<1, true>(p, number) : attend_group<1, false>(p, number);
    else save ? attend_group<8, true>(p, number) : attend_group<8, false>(p, number);
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
