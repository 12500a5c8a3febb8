// Two layers that mix a node's row with its neighbours' in a way of their own (a GCN's mean,
// GNNGuard, Soft-Median), on many flipped graphs.
#include <limits>

#include "flipped/edges.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

struct LayerWork {
  std::int64_t* first;               // (n + 1): where a node's neighbours begin, itself the last
  std::int32_t* neighbour;           // (2m + n)
  float *mixed, *logits;             // a row, and two times (n, stride)
  float *length, *factor;            // (n), and (2m + n): per neighbour
  std::pair<float, float>* ordered;  // (n): values of one column with their strengths

  LayerWork(const FlippedGraphs& all, const FlippedLayers& task, Arena& arena)
      : first(arena.take<std::int64_t>(all.num_nodes + 1)),
        neighbour(arena.take<std::int32_t>(slots(all))),
        mixed(arena.take<float>(std::max(task.hidden, task.stride))),
        logits(arena.take<float>(2 * all.num_nodes * task.stride)),
        length(arena.take<float>(all.num_nodes)),
        factor(arena.take<float>(slots(all))),
        ordered(arena.take<std::pair<float, float>>(all.num_nodes)) {}

  static std::int64_t slots(const FlippedGraphs& all) {
    return 2 * (all.num_edges + all.most_flips) + all.num_nodes;
  }

  // Edges as lists of neighbours; first[i] is moved along while they are filled.
  void list_neighbours(const FlippedGraphs& all, const Edges& edges) const {
    std::fill(first, first + all.num_nodes + 1, 1);
    first[all.num_nodes] = 0;
    for (std::int64_t e = 0; e < edges.count; ++e) ++first[edges.tail[e]], ++first[edges.head[e]];
    std::int64_t end = 0;
    for (std::int64_t i = 0; i <= all.num_nodes; ++i) first[i] = end += first[i];
    for (std::int64_t i = 0; i < all.num_nodes; ++i) neighbour[--first[i]] = std::int32_t(i);
    for (std::int64_t e = 0; e < edges.count; ++e) {
      neighbour[--first[edges.tail[e]]] = edges.head[e];
      neighbour[--first[edges.head[e]]] = edges.tail[e];
    }
  }
};

// Rows (n, stride) with `width` columns in use.
struct NodeRows {
  const float* data;
  std::int64_t stride, width;
  const float* at(std::int64_t node) const { return data + node * stride; }
};

ELASTICGNN_INLINE float product(const float* one, const float* other, std::int64_t stride) {
  Vec sum{};
  for (std::int64_t k = 0; k < stride; k += kFlippedRow)
    sum += P::load(one + k) * P::load(other + k);
  return P::sum(sum);
}

// Shares of a node's neighbours by the cosine of rows; returns their sum.
float guard(const FlippedLayers& task, const NodeRows& rows, const LayerWork& work,
            std::int64_t node) {
  const std::int64_t begin = work.first[node], self = work.first[node + 1] - 1;
  float total = 0, count = 0, norm = 0;
  for (std::int64_t p = begin; p < self; ++p) {
    const std::int32_t other = work.neighbour[p];
    const float alike = product(rows.at(node), rows.at(other), rows.stride) /
                        (work.length[node] * work.length[other]);
    work.factor[p] = alike >= task.parameter ? alike : 0;
    total += work.factor[p], count += work.factor[p] > 0 ? 1 : 0;
  }
  total = std::max(total, 1e-12f);
  for (std::int64_t p = begin; p < self; ++p) {
    work.factor[p] = work.factor[p] > 0 ? std::exp(work.factor[p] / total) : 0;
    norm += work.factor[p];
  }
  work.factor[self] = std::exp(1 / (1 + count));
  return norm + work.factor[self];
}

// The value of a column at which half of a node's strength is reached.
float median(const Edges& edges, const NodeRows& rows, const LayerWork& work, std::int64_t node,
             std::int64_t column, double half) {
  const std::int64_t begin = work.first[node], count = work.first[node + 1] - begin;
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int32_t other = work.neighbour[begin + p];
    work.ordered[p] = {rows.at(other)[column], edges.scale[node] * edges.scale[other]};
  }
  std::sort(work.ordered, work.ordered + count,
            [](const auto& one, const auto& other) { return one.first < other.first; });
  double reached = 0;
  for (std::int64_t p = 0; p < count - 1; ++p)
    if ((reached += double(work.ordered[p].second)) >= half) return work.ordered[p].first;
  return work.ordered[count - 1].first;
}

// Up to so many neighbours every value is compared with every other, kFlippedRow columns at a time,
// which beats sorting column by column: 1.2 instead of 5.1 ms a graph of Cora, by
// studies/table_cost.py. Sums of so few strengths in float are off by less than the 1e-6 by which
// `half` is lowered.
constexpr std::int64_t kCompared = 64;

// The same of kFlippedRow columns: the least value such that it and all below have half of the
// strength.
Vec compared_median(const NodeRows& rows, const LayerWork& work, std::int64_t node,
                    std::int64_t column, float half) {
  const std::int64_t begin = work.first[node], count = work.first[node + 1] - begin;
  Vec value[kCompared], least = P::splat(std::numeric_limits<float>::infinity());
  for (std::int64_t p = 0; p < count; ++p)
    value[p] = P::load(rows.at(work.neighbour[begin + p]) + column);
  for (std::int64_t p = 0; p < count; ++p) {
    Vec reached{};
    for (std::int64_t q = 0; q < count; ++q)
      reached += value[q] <= value[p] ? P::splat(work.factor[begin + q]) : Vec{};
    least = reached >= P::splat(half) ? P::least(value[p], least) : least;
  }
  return least;
}

// The weighted median of every column of a node and its neighbours, whose strengths are `factor`.
void medians(const Edges& edges, const NodeRows& rows, const LayerWork& work, std::int64_t node,
             float total) {
  const double half = double(total / 2) * (1 - 1e-6);
  if (work.first[node + 1] - work.first[node] <= kCompared) {
    for (std::int64_t k = 0; k < rows.stride; k += kFlippedRow)
      P::store(work.mixed + k, compared_median(rows, work, node, k, float(half)));
    return;
  }
  std::fill(work.mixed, work.mixed + rows.stride, 0.0f);
  for (std::int64_t k = 0; k < rows.width; ++k)
    work.mixed[k] = median(edges, rows, work, node, k, half);
}

// Shares by nearness to the median, scaled to a GCN's sum of strengths; returns 1.
float near_median(const Edges& edges, const FlippedLayers& task, const NodeRows& rows,
                  const LayerWork& work, std::int64_t node) {
  const std::int64_t begin = work.first[node], end = work.first[node + 1];
  float total = 0, norm = 0;
  for (std::int64_t p = begin; p < end; ++p)
    total += work.factor[p] = edges.scale[node] * edges.scale[work.neighbour[p]];
  medians(edges, rows, work, node, total);
  const float* const middle = work.mixed;
  const float spread = task.parameter * square_root(float(rows.width));
  for (std::int64_t p = begin; p < end; ++p) {
    const std::int32_t other = work.neighbour[p];
    Vec square{};
    for (std::int64_t k = 0; k < rows.stride; k += kFlippedRow) {
      const Vec apart = P::load(rows.at(other) + k) - P::load(middle + k);
      square += apart * apart;
    }
    const float far = square_root(std::max(P::sum(square), 1e-12f));
    work.factor[p] *= std::exp(-far / spread);
    norm += work.factor[p];
  }
  return std::max(norm, 1e-12f) / total;
}

// The share of each neighbour of a node, and what their sum is to be divided by.
float shares(const Edges& edges, const FlippedLayers& task, const NodeRows& rows,
             const LayerWork& work, std::int64_t node) {
  if (task.mixing == Mixing::guard) return guard(task, rows, work, node);
  if (task.mixing == Mixing::median) return near_median(edges, task, rows, work, node);
  for (std::int64_t p = work.first[node]; p < work.first[node + 1]; ++p)
    work.factor[p] = edges.scale[node] * edges.scale[work.neighbour[p]];
  return 1;
}

// to(node, row) is called with the mixed row of each node.
template <class To>
void mix(const FlippedGraphs& all, const Edges& edges, const FlippedLayers& task,
         const NodeRows& rows, const LayerWork& work, To&& to) {
  if (task.mixing == Mixing::guard)
    for (std::int64_t i = 0; i < all.num_nodes; ++i)
      work.length[i] = std::max(square_root(product(rows.at(i), rows.at(i), rows.stride)), 1e-12f);
  for (std::int64_t i = 0; i < all.num_nodes; ++i) {
    const float factor = 1 / shares(edges, task, rows, work, i);
    for (std::int64_t k = 0; k < rows.stride; k += kFlippedRow) {
      Vec sum{};
      for (std::int64_t p = work.first[i]; p < work.first[i + 1]; ++p)
        sum += work.factor[p] * P::load(rows.at(work.neighbour[p]) + k);
      P::store(work.mixed + k, factor * sum);
    }
    to(i, work.mixed);
  }
}

// second(relu(first mix)), then mixed again into the second half of `logits`.
const float* two_layers(const FlippedGraphs& all, const Edges& edges, const FlippedLayers& task,
                        const LayerWork& work, std::int64_t width) {
  work.list_neighbours(all, edges);
  mix(all, edges, task, {task.x, task.hidden, task.hidden_width}, work,
      [&](std::int64_t node, const float* row) {
        for (std::int64_t k = 0; k < task.stride; k += kFlippedRow) {
          Vec sum = P::load(task.bias2 + k);
          for (std::int64_t c = 0; c < task.hidden_width; ++c)
            sum += std::max(row[c], 0.0f) * P::load(task.weight2 + c * task.stride + k);
          P::store(work.logits + node * task.stride + k, sum);
        }
      });
  float* const result = work.logits + all.num_nodes * task.stride;
  mix(all, edges, task, {work.logits, task.stride, width}, work,
      [&](std::int64_t node, const float* row) {
        std::memcpy(result + node * task.stride, row, std::size_t(task.stride) * sizeof(float));
      });
  return result;
}

}  // namespace

std::size_t flipped_layers(const FlippedGraphs& all, const FlippedLayers& task,
                           const FlippedResult& result, char* scratch) {
  return each_graph<LayerWork>(
      all, task, scratch, [&](const Edges& edges, const LayerWork& work, std::int64_t graph) {
        const float* const rows = two_layers(all, edges, task, work, result.width);
        hand_out(all, graph, rows, task.stride, result);
      });
}

}  // namespace elasticgnn::ISA_NAMESPACE
