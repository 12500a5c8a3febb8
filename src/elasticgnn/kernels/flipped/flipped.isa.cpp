// ElasticGNN's steps and a GCN's convolutions on many graphs that differ from one another by a few
// flips.
#include "flipped/edges.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// The length that a dual row of `length` > lambda1 is given.
ELASTICGNN_INLINE float shortened(const FlippedElastic& task, float length) {
  return std::min(std::max(task.start * task.lambda1 - task.slope * length, 0.0f), task.lambda1);
}

template <int Parts>
ELASTICGNN_INLINE void project(const FlippedElastic& task, Vec (&z)[Parts]) {
  if (task.shape == Shape::box) {
    const Vec radius = P::splat(task.lambda1);
    for (Vec& part : z) part = P::most(P::least(part, radius), -radius);
    return;
  }
  Vec square = z[0] * z[0];
  for (int k = 1; k < Parts; ++k) square += z[k] * z[k];
  const float length = square_root(P::sum(square));
  if (!(length > task.lambda1)) return;
  const float factor = shortened(task, length) / length;
  for (Vec& part : z) part *= factor;
}

// dual_e <- projection of dual_e + beta (p_tail - p_head); divergence_i <- sum of ± dual_e.
template <int Parts>
void ascend(const Edges& edges, const FlippedElastic& task, const float* __restrict p,
            float* __restrict dual, float* __restrict divergence) {
  for (std::int64_t e = 0; e < edges.count; ++e) {
    const std::int64_t t = edges.tail[e] * std::int64_t(Parts * kFlippedRow),
                       h = edges.head[e] * std::int64_t(Parts * kFlippedRow);
    float* const own = dual + e * Parts * kFlippedRow;
    Vec z[Parts];
    for (int k = 0; k < Parts; ++k)
      z[k] = P::load(own + k * kFlippedRow) +
             task.beta * (P::load(p + t + k * kFlippedRow) - P::load(p + h + k * kFlippedRow));
    project(task, z);
    for (int k = 0; k < Parts; ++k) {
      P::store(own + k * kFlippedRow, z[k]);
      add_to(divergence + t + k * kFlippedRow, z[k]);
      add_to(divergence + h + k * kFlippedRow, -z[k]);
    }
  }
}

// What a thread needs for the elastic steps; `signal` holds the result.
struct ElasticWork {
  float *signal, *y, *scaled, *total, *divergence, *dual;

  ElasticWork(const FlippedGraphs& all, const FlippedElastic& task, Arena& arena) {
    const std::int64_t nodes = all.num_nodes * task.stride;
    for (float** rows : {&signal, &y, &scaled, &total, &divergence})
      *rows = arena.take<float>(nodes);
    dual = arena.take<float>(task.lambda1 > 0 ? (all.num_edges + all.most_flips) * task.stride : 0);
  }
};

// y = gamma x + (1 - gamma) F - smoothing L F, the first line of a step.
template <int Parts>
void descend(const FlippedGraphs& all, const Edges& edges, const FlippedElastic& task,
             const ElasticWork& work) {
  const std::int64_t width = Parts * kFlippedRow, size = all.num_nodes * width;
  for (std::int64_t i = 0; i < all.num_nodes; ++i)
    for (std::int64_t k = i * width; k < (i + 1) * width; k += kFlippedRow) {
      P::store(work.scaled + k, edges.scale[i] * P::load(work.signal + k));
      P::store(work.total + k, P::load(work.scaled + k));
    }
  add_neighbours<Parts>(edges, work.scaled, work.total);
  // degree * scale^2 = 1, the self-loop included: L F = F - scale * total
  for (std::int64_t i = 0, k = 0; k < size; ++i)
    for (const std::int64_t end = k + width; k < end; k += kFlippedRow) {
      const Vec f = P::load(work.signal + k), smooth = edges.scale[i] * P::load(work.total + k);
      P::store(work.y + k, task.gamma * P::load(task.x + k) + (1 - task.gamma) * f -
                               task.smoothing * (f - smooth));
    }
}

// to_i = factor_i (y_i - gamma scale_i divergence_i), factor the scale or 1.
template <int Parts>
void correct(const FlippedGraphs& all, const Edges& edges, const FlippedElastic& task,
             const ElasticWork& work, bool scaled, float* to) {
  constexpr std::int64_t width = Parts * kFlippedRow;
  for (std::int64_t i = 0; i < all.num_nodes; ++i) {
    const float scale = edges.scale[i], factor = scaled ? scale : 1;
    for (std::int64_t k = i * width; k < (i + 1) * width; k += kFlippedRow)
      P::store(to + k,
               factor * (P::load(work.y + k) - task.gamma * scale * P::load(work.divergence + k)));
  }
}

template <int Parts>
void elastic_steps(const FlippedGraphs& all, const Edges& edges, const FlippedElastic& task,
                   const ElasticWork& work) {
  const std::size_t bytes = std::size_t(all.num_nodes * task.stride) * sizeof(float);
  std::memcpy(work.signal, task.x, bytes);
  std::memset(work.divergence, 0, bytes);
  const bool has_dual = task.lambda1 > 0 && task.gamma > 0;
  if (has_dual) std::memset(work.dual, 0, std::size_t(edges.count * task.stride) * sizeof(float));
  for (int step = 0; step < task.steps; ++step) {
    descend<Parts>(all, edges, task, work);
    if (!has_dual) {
      std::memcpy(work.signal, work.y, bytes);
      continue;
    }
    correct<Parts>(all, edges, task, work, true, work.scaled);
    std::memset(work.divergence, 0, bytes);
    ascend<Parts>(edges, task, work.scaled, work.dual, work.divergence);
    correct<Parts>(all, edges, task, work, false, work.signal);
  }
}

struct ConvolutionWork {
  float *scaled, *total, *logits;

  ConvolutionWork(const FlippedGraphs& all, const FlippedConvolutions& task, Arena& arena)
      : scaled(arena.take<float>(all.num_nodes * kFlippedRow)),
        total(arena.take<float>(all.num_nodes * kFlippedRow)),
        logits(arena.take<float>(all.num_nodes * task.stride)) {}
};

// total <- A+I times the scaled columns [from, from + kFlippedRow) of rows (n, stride): a slice
// fits the nearest caches.
void smooth_slice(const FlippedGraphs& all, const Edges& edges, const float* rows,
                  std::int64_t stride, std::int64_t from, const ConvolutionWork& work) {
  for (std::int64_t i = 0; i < all.num_nodes; ++i) {
    const Vec own = edges.scale[i] * P::load(rows + i * stride + from);
    P::store(work.scaled + i * kFlippedRow, own);
    P::store(work.total + i * kFlippedRow, own);
  }
  add_neighbours<1>(edges, work.scaled, work.total);
}

void convolve_twice(const FlippedGraphs& all, const Edges& edges, const FlippedConvolutions& task,
                    const ConvolutionWork& work) {
  std::memset(work.logits, 0, std::size_t(all.num_nodes * task.stride) * sizeof(float));
  for (std::int64_t from = 0; from < task.hidden; from += kFlippedRow) {
    smooth_slice(all, edges, task.x, task.hidden, from, work);
    const Vec bias = P::load(task.bias1 + from);
    for (std::int64_t i = 0; i < all.num_nodes; ++i) {
      const Vec hidden =
          P::most(edges.scale[i] * P::load(work.total + i * kFlippedRow) + bias, Vec{});
      for (std::int64_t k = 0; k < task.stride; k += kFlippedRow) {
        Vec sum = P::load(work.logits + i * task.stride + k);
        for (int c = 0; c < kFlippedRow; ++c)
          sum += hidden[c] * P::load(task.weight2 + (from + c) * task.stride + k);
        P::store(work.logits + i * task.stride + k, sum);
      }
    }
  }
  for (std::int64_t k = 0; k < task.stride; k += kFlippedRow) {
    smooth_slice(all, edges, work.logits, task.stride, k, work);
    const Vec bias = P::load(task.bias2 + k);
    for (std::int64_t i = 0; i < all.num_nodes; ++i)
      P::store(work.logits + i * task.stride + k,
               edges.scale[i] * P::load(work.total + i * kFlippedRow) + bias);
  }
}

}  // namespace

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
std::size_t flipped_elastic(const FlippedGraphs& all, const FlippedElastic& task,
                            const FlippedResult& result, char* scratch) {
  return each_graph<ElasticWork>(
      all, task, scratch, [&](const Edges& edges, const ElasticWork& work, std::int64_t graph) {
        if (task.stride == kFlippedRow) elastic_steps<1>(all, edges, task, work);
        else elastic_steps<2>(all, edges, task, work);
        hand_out(all, graph, work.signal, task.stride, result);
      });
}

std::size_t flipped_convolutions(const FlippedGraphs& all, const FlippedConvolutions& task,
                                 const FlippedResult& result, char* scratch) {
  return each_graph<ConvolutionWork>(
      all, task, scratch, [&](const Edges& edges, const ConvolutionWork& work, std::int64_t graph) {
        convolve_twice(all, edges, task, work);
        hand_out(all, graph, work.logits, task.stride, result);
      });
}

}  // namespace elasticgnn::ISA_NAMESPACE
