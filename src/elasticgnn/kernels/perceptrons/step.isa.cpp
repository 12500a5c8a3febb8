// Gradient and Adam step of training/population/batch.py; autograd and torch.optim.Adam state the
// same. Callers have checked shapes, types and contiguity: nothing here throws. Every sum has one
// owner and one order, so results do not depend on threads or on other runs.
#include <cmath>

#include "features/dropout.h"
#include "features/product.h"
#include "perceptrons/problem.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

struct Step {
  const Perceptrons& p;
  const Backward& b;
  const Adam& a;
  std::int64_t run;
  float rate, root, decay;  // lr / (1 - 0.9^t), 1 / sqrt(1 - 0.999^t), weight decay
};

Step start_step(const Perceptrons& p, const Backward& b, const Adam& a, std::int64_t run) {
  const double bias1 = 1 - std::pow(0.9, double(a.step));
  const double bias2 = 1 - std::pow(0.999, double(a.step));
  const auto rate = float(a.learning_rate[run] / bias1);
  return {p, b, a, run, rate, float(1 / std::sqrt(bias2)), a.weight_decay[run]};
}

// Adam on `count` weights of the run from `offset` on.
void descend(const Step& s, std::int64_t offset, std::int64_t count, const float* grad) {
  const std::int64_t at = s.run * s.p.stride + offset;
  float* __restrict w = s.p.weights + at;
  float* __restrict first = s.a.first + at;
  float* __restrict second = s.a.second + at;
#pragma omp simd
  for (std::int64_t k = 0; k < count; ++k) {
    const float g = grad[k] + s.decay * w[k];
    first[k] += 0.1f * (g - first[k]);
    second[k] = 0.999f * second[k] + 0.001f * g * g;
    w[k] -= s.rate * first[k] / (std::sqrt(second[k]) * s.root + 1e-8f);
  }
}

// Sixteen hidden units, classes c0 .. c0 + C: total += grad' activation, back += grad W.
// With Last, activations then become their own gradients (0 where the unit was off).
template <int C, bool Last>
void class_group(const Step& s, std::int64_t unit, std::int64_t c0, float* back, float* grad) {
  const Perceptrons& p = s.p;
  const float* second = p.weights + s.run * p.stride + (p.features + 1) * p.hidden;
  const float* g0 = s.b.grad + s.run * p.classes + c0;
  float* activation = s.b.activation + s.run * s.b.nodes * p.hidden + unit;
  const float scale = p.scale[s.run];
  for (int r = 0; r < LANES; r += REGISTER) {
    Register row[C], total[C] = {}, bias = {};
    for (int c = 0; c < C; ++c) row[c] = load_register(second + (c0 + c) * p.hidden + unit + r);
    const float* g = g0;
    float *at = activation + r, *kept = back + r;
    for (std::int64_t i = 0; i < s.b.nodes; ++i, g += p.runs * p.classes, at += p.hidden) {
      const Register h = load_register(at);
      Register sum = c0 > 0 ? load_register(kept + i * LANES) : Register{};
      for (int c = 0; c < C; ++c) {
        total[c] += g[c] * h;
        sum += g[c] * row[c];
      }
      if (Last) {
        sum = h > 0 ? scale * sum : Register{};
        bias += sum;
        store_register(at, sum);
      } else {
        store_register(kept + i * LANES, sum);
      }
    }
    for (int c = 0; c < C; ++c) store_register(grad + (c0 + c) * LANES + r, total[c]);
    if (Last) store_register(grad + p.classes * LANES + r, bias);
  }
}

void last_group(const Step& s, std::int64_t unit, std::int64_t c0, float* back, float* grad) {
  switch (s.p.classes - c0) {
    case 1:
      return class_group<1, true>(s, unit, c0, back, grad);
    case 2:
      return class_group<2, true>(s, unit, c0, back, grad);
    case 3:
      return class_group<3, true>(s, unit, c0, back, grad);
    case 4:
      return class_group<4, true>(s, unit, c0, back, grad);
    case 5:
      return class_group<5, true>(s, unit, c0, back, grad);
    case 6:
      return class_group<6, true>(s, unit, c0, back, grad);
    case 7:
      return class_group<7, true>(s, unit, c0, back, grad);
    default:
      return class_group<8, true>(s, unit, c0, back, grad);
  }
}

// Steps the second layer and the first bias for one block of sixteen hidden units.
void step_units(const Step& s, std::int64_t unit, float* back, float* grad) {
  const Perceptrons& p = s.p;
  std::int64_t c0 = 0;
  for (; c0 + 8 < p.classes; c0 += 8) class_group<8, false>(s, unit, c0, back, grad);
  last_group(s, unit, c0, back, grad);
  const std::int64_t bias = p.features * p.hidden, second = bias + p.hidden;
  for (std::int64_t c = 0; c < p.classes; ++c)
    descend(s, second + c * p.hidden + unit, LANES, grad + c * LANES);
  descend(s, bias + unit, LANES, grad + p.classes * LANES);
}

// The bias is added behind a GCN's matrix: its gradient is that of the outputs.
void step_second_bias(const Step& s, const float* outputs, float* grad) {
  const Perceptrons& p = s.p;
  for (std::int64_t c = 0; c < p.classes; ++c) grad[c] = 0;
  for (std::int64_t i = 0; i < s.b.nodes; ++i)
    for (std::int64_t c = 0; c < p.classes; ++c)
      grad[c] += outputs[(i * p.runs + s.run) * p.classes + c];
  descend(s, (p.features + 1 + p.classes) * p.hidden, p.classes, grad);
}

template <int V>
[[gnu::always_inline]] inline void feature_units(const Step& s, std::int64_t feature,
                                                 const std::int32_t* node, const float* value,
                                                 std::int64_t count, std::int64_t unit) {
  const float* rows = s.p.convolution.present() ? s.p.convolution.mixed : s.b.activation;
  const float* dense = rows + s.run * s.b.nodes * s.p.hidden + unit;
  float grad[V * LANES];
  weighted_rows<V>(node, value, count, dense, s.p.hidden, s.p.scale[s.run], grad);
  descend(s, feature * s.p.hidden + unit, V * LANES, grad);
}

// Steps the first layer's weights of some features: their gradient never leaves this function.
void step_features(const Step& s, std::int64_t begin, std::int64_t end, KeptEntries& kept) {
  const SparseRows& m = s.b.columns;
  const std::uint64_t key = stream_key(s.p.seed[s.run], s.p.epoch, INPUT_SITE);
  kept.select(m.start[begin], m.start[end], key, s.p.threshold[s.run]);
  std::int64_t from = 0;
  for (std::int64_t feature = begin; feature < end; ++feature) {
    const std::int64_t to = kept.position(m.start[feature + 1]);
    const std::int32_t* node = kept.column.data + from;
    const float* value = kept.value.data + from;
    std::int64_t unit = 0;
    for (; unit + 4 * LANES <= s.p.hidden; unit += 4 * LANES)
      feature_units<4>(s, feature, node, value, to - from, unit);
    for (; unit < s.p.hidden; unit += LANES)
      feature_units<1>(s, feature, node, value, to - from, unit);
    from = to;
  }
}

// The gradient of mixed rows from that of the hidden ones: A times it, as A is symmetric.
void mix_gradients(const Perceptrons& p, const Backward& b, std::int64_t run, std::int64_t begin,
                   std::int64_t end) {
  const SparseRows& m = p.convolution.matrix;
  const float* hidden = b.activation + run * b.nodes * p.hidden;
  float* out = p.convolution.mixed + run * b.nodes * p.hidden;
  for (std::int64_t node = begin; node < end; ++node) {
    const std::int64_t q = m.start[node];
    weighted_row(m.column + q, m.value + q, m.start[node + 1] - q, hidden, p.hidden, 1.0f,
                 out + node * p.hidden);
  }
}

// The gradient of the logits before a GCN's matrix.
Backward before_matrix(const Perceptrons& p, Backward b) {
  const Convolution& c = p.convolution;
  if (!c.present()) return b;
  sparse_product({c.matrix, b.grad, c.linear, p.runs * p.classes, p.threads});
  b.grad = c.linear;
  return b;
}

}  // namespace

// One step of Adam from the gradient of the logits; weights and moments change, all at once.
void perceptrons_step(const Perceptrons& p, const Backward& outputs, const Adam& a) {
  constexpr std::int64_t FEATURES = 64;  // of one task
  const Backward b = before_matrix(p, outputs);
  const std::int64_t blocks = p.hidden / LANES, tasks = (p.features + FEATURES - 1) / FEATURES;
  const std::int64_t row_tasks =
      (p.convolution.matrix.rows + PERCEPTRON_ROWS - 1) / PERCEPTRON_ROWS;
  const std::int64_t entries = most_entries(b.columns, FEATURES);
#pragma omp parallel num_threads(p.threads)
  {
    KeptEntries kept(b.columns, entries);
    const Zeroed<float> back(p.classes > 8 ? b.nodes * LANES : 1);
    const Zeroed<float> grad((p.classes + 1) * LANES);
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t block = 0; block < blocks; ++block) {
        const Step step = start_step(p, b, a, run);
        step_units(step, block * LANES, back.data, grad.data);
        if (block == 0) step_second_bias(step, outputs.grad, grad.data);
      }
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t task = 0; task < row_tasks; ++task)
        mix_gradients(p, b, run, task * PERCEPTRON_ROWS,
                      smaller(b.nodes, (task + 1) * PERCEPTRON_ROWS));
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t task = 0; task < tasks; ++task) {
        const std::int64_t begin = task * FEATURES, end = smaller(p.features, begin + FEATURES);
        step_features(start_step(p, b, a, run), begin, end, kept);
      }
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
