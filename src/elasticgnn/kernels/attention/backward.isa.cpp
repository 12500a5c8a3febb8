// Gradients of attention. The graph is symmetric, so the nodes that attend to node j are j's own
// neighbours i and every gradient is gathered: with weight_ij recomputed and s_i = <grad_i, out_i>,
//   change_ij = weight_ij (factor_ij <grad_i, rows_j> - s_i) leaky'(score_ij),
//   grad_rows_j = sum_i factor_ij weight_ij grad_i,  grad_source_j = sum_i change_ij,
//   grad_target_i = sum_j change_ij = (1 - slope) (<grad_i, above_i> - s_i above weight_i):
// without leaky' the sum over j is 0, so only the scores above 0 count, and those that the forward
// pass summed apart spare a second walk over the neighbours' rows.
#include "attention/heads.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

// Of each neighbour i of one node j, head by head.
struct NeighbourTerms {
  float *score, *weight, *own;  // factor_ij weight_ij, weight_ij s_i
  float* dot;                   // <grad_i, rows_j>
};

// What a node's neighbours read of it: target, most, inverse, s (G numbers each).
template <int G>
struct PackedHeads {
  HeadGroup heads;
  std::int64_t nodes, base;  // base: the group's first packed row
  float *grad, *facts;       // (n, width), (n, 4 G)
};

template <int G>
void pack_node(const AttentionBackward& p, const PackedHeads<G>& g, std::int64_t node) {
  const HeadGroup& h = g.heads;
  float* grad = g.grad + node * h.width;
  float* facts = g.facts + node * 4 * G;
  pack_row<G>(h, p.grad, node, grad);
  const std::int64_t at = (g.base + node) * h.width;
  Vec16 out = {}, above = {};
  for (std::int64_t q = 0; q < h.width; q += LANES) {
    out += load(grad + q) * load(p.packed_out + at + q);
    above += load(grad + q) * load(p.packed_above + at + q);
  }
  out = fold_sum<G>(out);
  float share[G];
  pack_heads<G>(h, p.above, node, share);
  const Vec16 change = (1 - kSlope) * (fold_sum<G>(above) - out * per_head<G>(share));
  unpack_heads<G>(h, change, p.grad_target, node);
  pack_heads<G>(h, p.target, node, facts);
  pack_heads<G>(h, p.most, node, facts + G);
  pack_heads<G>(h, p.inverse, node, facts + 2 * G);
  std::memcpy(facts + 3 * G, &out, G * sizeof(float));
}

template <int G>
void multiply_factors(const AttentionBackward& p, const HeadGroup& g, std::int64_t node,
                      float* weight) {
  const std::int64_t begin = p.graph.start[node], count = p.graph.start[node + 1] - begin;
  for (std::int64_t e = 0; e < count; ++e) {
    float factor[G];
    pack_heads<G>(g, p.factor, begin + e, factor);
    for (int k = 0; k < G; ++k) weight[e * G + k] *= factor[k];
  }
}

// NeighbourTerms and weights with which its neighbours attend to `node`; returns how many, in whole
// lanes.
template <int G>
std::int64_t weigh_neighbours(const AttentionBackward& p, const PackedHeads<G>& g,
                              std::int64_t node, NeighbourTerms pairs) {
  const std::int64_t begin = p.graph.start[node], count = (p.graph.start[node + 1] - begin) * G;
  const std::int64_t padded = whole_lanes(count);
  const std::int32_t* column = p.graph.column + begin;
  float *most = pairs.dot, *inverse = pairs.weight;  // their places are still free
  for (std::int64_t q = 0; q < count; q += G) {
    const float* facts = g.facts + column[q / G] * std::int64_t(4 * G);
    copy_heads<G>(pairs.score + q, facts);
    copy_heads<G>(most + q, facts + G);
    copy_heads<G>(inverse + q, facts + 2 * G);
    copy_heads<G>(pairs.own + q, facts + 3 * G);
  }
  for (std::int64_t q = count; q < padded; ++q)
    pairs.score[q] = most[q] = inverse[q] = pairs.own[q] = 0;
  float own[G];
  pack_heads<G>(g.heads, p.source, node, own);
  const Vec16 source = per_head<G>(own);
  for (std::int64_t q = 0; q < padded; q += LANES) {
    const Vec16 score = load(pairs.score + q) + source;
    const Vec16 weight = exponential(leaky(score) - load(most + q)) * load(inverse + q);
    store(pairs.score + q, score);
    store(pairs.weight + q, weight);
    store(pairs.own + q, weight * load(pairs.own + q));
    store(pairs.dot + q, Vec16{});
  }
  if (p.factor) multiply_factors<G>(p, g.heads, node, pairs.weight);
  return padded;
}

// V vectors of the gradient of the node's row, from vector `first` on, and their part of the dots.
template <int G, int V>
void add_neighbours(const AttentionBackward& p, const PackedHeads<G>& g, std::int64_t node,
                    std::int64_t first, NeighbourTerms pairs, float* row) {
  const std::int64_t begin = p.graph.start[node], count = p.graph.start[node + 1] - begin;
  const std::int64_t width = g.heads.width;
  const std::int32_t* __restrict column = p.graph.column + begin;
  const float* grad = g.grad + first * LANES;
  Vec16 total[V] = {}, own[V];
  for (int v = 0; v < V; ++v)
    own[v] = load(p.packed_rows + (g.base + node) * width + (first + v) * LANES);
  for (std::int64_t e = 0; e < count; ++e) {
    const float* from = grad + column[e] * width;
    const Vec16 weight = per_head<G>(pairs.weight + e * G);
    Vec16 dot = {};
    for (int v = 0; v < V; ++v) {
      const Vec16 x = load(from + v * LANES);
      total[v] += weight * x;
      dot += own[v] * x;
    }
    dot = fold_sum<G>(dot) + per_head<G>(pairs.dot + e * G);
    std::memcpy(pairs.dot + e * G, &dot, G * sizeof(float));
  }
  for (int v = 0; v < V; ++v) store(row + (first + v) * LANES, total[v]);
}

template <int G>
void gather_node(const AttentionBackward& p, const PackedHeads<G>& g, std::int64_t node,
                 NeighbourTerms pairs, float* row) {
  const std::int64_t padded = weigh_neighbours<G>(p, g, node, pairs),
                     vectors = g.heads.width / LANES;
  std::int64_t v = 0;
  for (; v + 4 <= vectors; v += 4) add_neighbours<G, 4>(p, g, node, v, pairs, row);
  for (; v < vectors; ++v) add_neighbours<G, 1>(p, g, node, v, pairs, row);
  unpack_row<G>(g.heads, row, p.grad_rows, node);
  Vec16 total = {};
  for (std::int64_t q = 0; q < padded; q += LANES) {
    const Vec16 change = load(pairs.weight + q) * load(pairs.dot + q) - load(pairs.own + q);
    total += load(pairs.score + q) > 0 ? change : kSlope * change;
  }
  unpack_heads<G>(g.heads, fold_sum<G>(total), p.grad_source, node);
}

template <int G>
void differentiate_group(const AttentionBackward& p, std::int64_t number) {
  const HeadGroup heads = head_group(p.shape, number);
  const std::int64_t nodes = p.graph.rows, slots = whole_lanes(most_entries(p.graph, 1) * G);
  const PackedHeads<G> g{heads, nodes, number * nodes, p.scratch, p.scratch + nodes * heads.width};
#pragma omp parallel num_threads(p.threads)
  {
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < nodes; ++i) pack_node<G>(p, g, i);
    Zeroed<float> row(heads.width), room(4 * slots);
    const NeighbourTerms pairs{room.data, room.data + slots, room.data + 2 * slots,
                               room.data + 3 * slots};
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t i = 0; i < nodes; ++i) gather_node<G>(p, g, i, pairs, row.data);
  }
}

}  // namespace

void attention_backward(const AttentionBackward& p) {
  for (std::int64_t number = 0; number < group_count(p.shape); ++number)
    group_size(p.shape) == 1 ? differentiate_group<1>(p, number)
                             : differentiate_group<8>(p, number);
}

}  // namespace elasticgnn::ISA_NAMESPACE
