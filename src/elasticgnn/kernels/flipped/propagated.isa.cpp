// RUNG's reweighted steps and GPRGNN's polynomial on many flipped graphs.
#include "flipped/edges.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

struct PropagatedWork {
  float *signal, *scaled, *received, *total;

  template <class Task>
  PropagatedWork(const FlippedGraphs& all, const Task& task, Arena& arena) {
    const std::int64_t nodes = all.num_nodes * task.stride;
    for (float** rows : {&signal, &scaled, &received}) *rows = arena.take<float>(nodes);
    total = arena.take<float>(all.num_nodes);
  }
};

// scaled_i = scale_i signal_i
void scale_rows(const FlippedGraphs& all, const Edges& edges, std::int64_t stride,
                const PropagatedWork& work) {
  for (std::int64_t i = 0; i < all.num_nodes; ++i)
    for (std::int64_t k = i * stride; k < (i + 1) * stride; k += kFlippedRow)
      P::store(work.scaled + k, edges.scale[i] * P::load(work.signal + k));
}

// W of a squared difference.
ELASTICGNN_INLINE float weight_of(const FlippedReweighted& task, float square) {
  if (task.norm == Reweighting::l2) return 1;
  float z = square_root(square + task.smallest);
  if (task.double_root) z = square_root(z);
  const float weight = 1 / (2 * z);
  return task.norm == Reweighting::l1 ? weight : std::max(weight - task.cut, 0.0f);
}

// received_i = sum of W_ij scaled_j, total_i = sum of W_ij
template <int Parts>
void reweight(const FlippedGraphs& all, const Edges& edges, const FlippedReweighted& task,
              const PropagatedWork& work) {
  constexpr std::int64_t width = Parts * kFlippedRow;
  std::memset(work.received, 0, std::size_t(all.num_nodes * width) * sizeof(float));
  std::memset(work.total, 0, std::size_t(all.num_nodes) * sizeof(float));
  for (std::int64_t e = 0; e < edges.count; ++e) {
    const std::int64_t t = edges.tail[e], h = edges.head[e];
    Vec tail[Parts], head[Parts], square{};
    for (int k = 0; k < Parts; ++k) {
      tail[k] = P::load(work.scaled + t * width + k * kFlippedRow);
      head[k] = P::load(work.scaled + h * width + k * kFlippedRow);
      square += (tail[k] - head[k]) * (tail[k] - head[k]);
    }
    const float weight = weight_of(task, P::sum(square));
    work.total[t] += weight, work.total[h] += weight;
    for (int k = 0; k < Parts; ++k) {
      add_to(work.received + t * width + k * kFlippedRow, weight * head[k]);
      add_to(work.received + h * width + k * kFlippedRow, weight * tail[k]);
    }
  }
}

template <int Parts>
void reweighted_steps(const FlippedGraphs& all, const Edges& edges, const FlippedReweighted& task,
                      const PropagatedWork& work) {
  constexpr std::int64_t width = Parts * kFlippedRow;
  std::memcpy(work.signal, task.x, std::size_t(all.num_nodes * width) * sizeof(float));
  for (int step = 0; step < task.steps; ++step) {
    scale_rows(all, edges, width, work);
    reweight<Parts>(all, edges, task, work);
    for (std::int64_t i = 0; i < all.num_nodes; ++i) {
      const float scale = edges.scale[i];
      const float share = 1 / (scale * scale * work.total[i] + task.fidelity);
      for (std::int64_t k = i * width; k < (i + 1) * width; k += kFlippedRow)
        P::store(work.signal + k, share * (scale * P::load(work.received + k) +
                                           task.fidelity * P::load(task.x + k)));
    }
  }
}

// sum = sum of mix_k S^k x, S = D^-1/2 (A + I) D^-1/2.
template <int Parts>
void polynomial(const FlippedGraphs& all, const Edges& edges, const FlippedPolynomial& task,
                const PropagatedWork& work, float* sum) {
  constexpr std::int64_t width = Parts * kFlippedRow;
  const std::int64_t size = all.num_nodes * width;
  std::memcpy(work.signal, task.x, std::size_t(size) * sizeof(float));
  for (std::int64_t k = 0; k < size; k += kFlippedRow)
    P::store(sum + k, task.mix[0] * P::load(task.x + k));
  for (int step = 1; step <= task.steps; ++step) {
    scale_rows(all, edges, width, work);
    std::memcpy(work.received, work.scaled, std::size_t(size) * sizeof(float));
    add_neighbours<Parts>(edges, work.scaled, work.received);
    for (std::int64_t i = 0; i < all.num_nodes; ++i)
      for (std::int64_t k = i * width; k < (i + 1) * width; k += kFlippedRow) {
        const Vec reached = edges.scale[i] * P::load(work.received + k);
        P::store(work.signal + k, reached);
        add_to(sum + k, task.mix[step] * reached);
      }
  }
}

struct PolynomialWork : PropagatedWork {
  float* sum;

  PolynomialWork(const FlippedGraphs& all, const FlippedPolynomial& task, Arena& arena)
      : PropagatedWork(all, task, arena), sum(arena.take<float>(all.num_nodes * task.stride)) {}
};

}  // namespace

std::size_t flipped_reweighted(const FlippedGraphs& all, const FlippedReweighted& task,
                               const FlippedResult& result, char* scratch) {
  return each_graph<PropagatedWork>(
      all, task, scratch, [&](const Edges& edges, const PropagatedWork& work, std::int64_t graph) {
        if (task.stride == kFlippedRow) reweighted_steps<1>(all, edges, task, work);
        else reweighted_steps<2>(all, edges, task, work);
        hand_out(all, graph, work.signal, task.stride, result);
      });
}

std::size_t flipped_polynomial(const FlippedGraphs& all, const FlippedPolynomial& task,
                               const FlippedResult& result, char* scratch) {
  return each_graph<PolynomialWork>(
      all, task, scratch, [&](const Edges& edges, const PolynomialWork& work, std::int64_t graph) {
        if (task.stride == kFlippedRow) polynomial<1>(all, edges, task, work, work.sum);
        else polynomial<2>(all, edges, task, work, work.sum);
        hand_out(all, graph, work.sum, task.stride, result);
      });
}

}  // namespace elasticgnn::ISA_NAMESPACE
