// Loops of training/population.py; training/loop.py states the same with autograd.
// Callers have checked shapes, types and contiguity: nothing here throws.
// Every sum has one owner and one order, so results do not depend on threads or on other runs.
#include "perceptrons.h"

#include <cmath>

#include "lanes.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

constexpr std::int64_t CHUNK = 256;  // rows or columns of one task
constexpr int INPUT_SITE = 0, HIDDEN_SITE = 1;

struct Run {
  const float *first, *first_bias, *second, *second_bias;
};

Run run_weights(const Perceptrons& p, std::int64_t run) {
  const float* first = p.weights + run * p.stride;
  const float* bias = first + p.features * p.hidden;
  const float* second = bias + p.hidden;
  return {first, bias, second, second + p.classes * p.hidden};
}

std::int64_t padded(std::int64_t classes) { return (classes + LANES - 1) / LANES * LANES; }

// The second layer as (hidden, padded classes): one lane per class.
void transpose_second(const Perceptrons& p, const Run& run, float* w) {
  const std::int64_t width = padded(p.classes);
  for (std::int64_t c = 0; c < p.classes; ++c)
    for (std::int64_t u = 0; u < p.hidden; ++u) w[u * width + c] = run.second[c * p.hidden + u];
}

// Which of row `row`'s slots survive, as positions relative to the row's start.
std::int64_t kept_slots(const SparseRows& m, std::int64_t row, const std::uint8_t* keep,
                        std::int32_t* kept) {
  const std::int64_t begin = m.start[row], length = m.start[row + 1] - begin;
  std::int64_t count = 0;
  for (std::int64_t q = 0; q < length; ++q) {
    kept[count] = std::int32_t(q);
    count += keep[m.entry ? m.entry[begin + q] : begin + q];
  }
  return count;
}

// sum over the listed slots of value * (row `column` of dense), V blocks of lanes from `first` on.
template <int V>
[[gnu::always_inline]] inline void gather(const SparseRows& m, std::int64_t begin,
                                          const std::int32_t* kept, std::int64_t count,
                                          const float* dense, std::int64_t width, Lanes* total) {
  for (int v = 0; v < V; ++v) total[v] = Lanes{};
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t q = begin + (kept ? kept[k] : k);
    const float* from = dense + m.column[q] * width;
    for (int v = 0; v < V; ++v) total[v] += m.value[q] * load(from + v * LANES);
  }
}

[[gnu::always_inline]] inline Lanes positive(Lanes x) { return x > 0 ? x : Lanes{}; }

// x where the hash of its position survives, else 0.
[[gnu::always_inline]] inline Lanes dropped(Lanes x, std::uint32_t position, std::uint64_t key,
                                            std::uint32_t threshold) {
  WordLanes h = WordLanes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  h += position + std::uint32_t(key);
  h ^= h >> 16;
  h *= 0x7FEB352Du;
  h ^= (h >> 15) ^ std::uint32_t(key >> 32);
  h *= 0x846CA68Bu;
  h ^= h >> 16;
  return h >= threshold ? x : Lanes{};
}

struct Pass {
  const Perceptrons& p;
  const Forward& f;
  std::int64_t run;
  Run weights;
  const float* second;  // transposed
  std::uint64_t hidden_key;
};

// Hidden units `first` .. of one node: relu(features W + b), dropped out while training.
template <int V>
[[gnu::always_inline]] inline void hidden_block(const Pass& s, std::int64_t node,
                                                const std::int32_t* kept, std::int64_t count,
                                                std::int64_t first, float* hidden) {
  const Perceptrons& p = s.p;
  Lanes total[V];
  gather<V>(s.f.rows, s.f.rows.start[node], kept, count, s.weights.first + first, p.hidden, total);
  const float scale = kept ? p.scale[s.run] : 1.0f;
  for (int v = 0; v < V; ++v) {
    const std::int64_t unit = first + v * LANES;
    Lanes x = positive(scale * total[v] + load(s.weights.first_bias + unit));
    if (kept) {
      const auto position = std::uint32_t(node * p.real_hidden + unit);
      x = p.scale[s.run] * dropped(x, position, s.hidden_key, p.threshold[s.run]);
    }
    store(hidden + unit, x);
  }
}

// The node's logits from its hidden units.
[[gnu::always_inline]] inline void second_layer(const Pass& s, std::int64_t node,
                                                const float* hidden) {
  const Perceptrons& p = s.p;
  const std::int64_t width = padded(p.classes);
  float* out = s.f.logits + (node * p.runs + s.run) * p.classes;
  for (std::int64_t first = 0; first < p.classes; first += LANES) {
    Lanes total[4] = {load(s.weights.second_bias + first)};
    const float* w = s.second + first;
    for (std::int64_t u = 0; u < p.hidden; u += 4)
      for (int k = 0; k < 4; ++k) total[k] += hidden[u + k] * load(w + (u + k) * width);
    const Lanes sum = (total[0] + total[1]) + (total[2] + total[3]);
    const auto here = smaller(LANES, p.classes - first);
    for (std::int64_t c = 0; c < here; ++c) out[first + c] = sum[c];
  }
}

void forward_rows(const Pass& s, std::int64_t begin, std::int64_t end, std::int32_t* list,
                  float* buffer) {
  const Perceptrons& p = s.p;
  const std::int64_t entries = s.f.rows.start[s.f.rows.rows];
  const std::uint8_t* keep = s.f.keep ? s.f.keep + s.run * entries : nullptr;
  for (std::int64_t node = begin; node < end; ++node) {
    const std::int64_t length = s.f.rows.start[node + 1] - s.f.rows.start[node];
    const std::int32_t* kept = keep ? list : nullptr;
    const std::int64_t count = keep ? kept_slots(s.f.rows, node, keep, list) : length;
    float* hidden =
        keep ? s.f.activation + (s.run * s.f.rows.rows + node) * p.hidden : buffer;
    std::int64_t unit = 0;
    for (; unit + 4 * LANES <= p.hidden; unit += 4 * LANES)
      hidden_block<4>(s, node, kept, count, unit, hidden);
    for (; unit < p.hidden; unit += LANES) hidden_block<1>(s, node, kept, count, unit, hidden);
    second_layer(s, node, hidden);
  }
}

void draw_input_mask(const Perceptrons& p, const Forward& f, std::int64_t run, std::int64_t begin,
                     std::int64_t end) {
  const std::uint64_t key = stream_key(p.seed[run], p.epoch, INPUT_SITE);
  const auto low = std::uint32_t(key), high = std::uint32_t(key >> 32);
  const std::uint32_t threshold = p.threshold[run];
  std::uint8_t* keep = f.keep + run * f.rows.start[f.rows.rows];
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i)
    keep[i] = hash_position(std::uint32_t(i), low, high) >= threshold;
}

std::int64_t longest_row(const SparseRows& m) {
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const std::int64_t length = m.start[i + 1] - m.start[i];
    longest = length > longest ? length : longest;
  }
  return longest;
}

struct AdamRun {
  float rate, root, decay;
};

// rate = lr / (1 - 0.9^t), root = 1 / sqrt(1 - 0.999^t), as torch.optim.Adam computes them.
AdamRun adam_run(const Adam& a, std::int64_t run) {
  const double bias1 = 1 - std::pow(0.9, double(a.step));
  const double bias2 = 1 - std::pow(0.999, double(a.step));
  return {float(a.learning_rate[run] / bias1), float(1 / std::sqrt(bias2)), a.weight_decay[run]};
}

void adam_span(const AdamRun& a, std::int64_t count, const float* grad, float* __restrict w,
               float* __restrict first, float* __restrict second) {
#pragma omp simd
  for (std::int64_t k = 0; k < count; ++k) {
    const float g = grad[k] + a.decay * w[k];
    first[k] += 0.1f * (g - first[k]);
    second[k] = 0.999f * second[k] + 0.001f * g * g;
    w[k] -= a.rate * first[k] / (std::sqrt(second[k]) * a.root + 1e-8f);
  }
}

void adam_at(const Perceptrons& p, const Adam& a, std::int64_t run, std::int64_t offset,
             std::int64_t count, const float* grad) {
  const std::int64_t at = run * p.stride + offset;
  adam_span(adam_run(a, run), count, grad, p.weights + at, a.first + at, a.second + at);
}

constexpr int GROUP = 8;  // classes whose gradients stay in registers together

// One block of 16 hidden units of one run: the second layer's gradient into `grad` (classes + 1
// rows of 16, the last for the first layer's bias); activations become their own gradients.
void hidden_gradient(const Perceptrons& p, const Backward& b, std::int64_t run, std::int64_t unit,
                     float* grad) {
  const Run w = run_weights(p, run);
  const float scale = p.scale[run];
  const std::int64_t groups = (p.classes + GROUP - 1) / GROUP;
  Lanes bias = {};
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t c0 = group * GROUP, here = smaller(GROUP, p.classes - c0);
    Lanes row[GROUP] = {}, total[GROUP] = {};
    for (std::int64_t c = 0; c < here; ++c) row[c] = load(w.second + (c0 + c) * p.hidden + unit);
    for (std::int64_t i = 0; i < b.nodes; ++i) {
      const float* g = b.grad + (i * p.runs + run) * p.classes + c0;
      float g8[GROUP] = {};
      for (std::int64_t c = 0; c < here; ++c) g8[c] = g[c];
      float* at = b.activation + (run * b.nodes + i) * p.hidden + unit;
      const Lanes h = load(at);
      Lanes back = {};
      for (int c = 0; c < GROUP; ++c) {
        total[c] += g8[c] * h;
        back += g8[c] * row[c];
      }
      if (groups == 1) {
        back = h > 0 ? scale * back : Lanes{};
        bias += back;
        store(at, back);
      }
    }
    for (std::int64_t c = 0; c < here; ++c) store(grad + (c0 + c) * LANES, total[c]);
  }
  if (groups > 1) {  // many classes: activations are needed by every group before they change
    for (std::int64_t i = 0; i < b.nodes; ++i) {
      const float* g = b.grad + (i * p.runs + run) * p.classes;
      float* at = b.activation + (run * b.nodes + i) * p.hidden + unit;
      const Lanes h = load(at);
      Lanes back = {};
      for (std::int64_t c = 0; c < p.classes; ++c)
        back += g[c] * load(w.second + c * p.hidden + unit);
      back = h > 0 ? scale * back : Lanes{};
      bias += back;
      store(at, back);
    }
  }
  store(grad + p.classes * LANES, bias);
}

// Steps the second layer and the first bias for one block of hidden units.
void update_block(const Perceptrons& p, const Backward& b, const Adam& a, std::int64_t run,
                  std::int64_t unit) {
  const Scratch<float> scratch((p.classes + 1) * LANES);
  float* grad = scratch.data;
  hidden_gradient(p, b, run, unit, grad);
  const std::int64_t bias = p.features * p.hidden, second = bias + p.hidden;
  for (std::int64_t c = 0; c < p.classes; ++c)
    adam_at(p, a, run, second + c * p.hidden + unit, LANES, grad + c * LANES);
  adam_at(p, a, run, bias + unit, LANES, grad + p.classes * LANES);
}

void update_second_bias(const Perceptrons& p, const Backward& b, const Adam& a, std::int64_t run) {
  const Scratch<float> scratch(padded(p.classes));
  float* grad = scratch.data;
  for (std::int64_t i = 0; i < b.nodes; ++i)
    for (std::int64_t c = 0; c < p.classes; ++c)
      grad[c] += b.grad[(i * p.runs + run) * p.classes + c];
  const std::int64_t offset = (p.features + 1 + p.classes) * p.hidden;
  adam_at(p, a, run, offset, p.classes, grad);
}

// Steps the first layer's weights of some features: their gradient never leaves this function.
void update_features(const Perceptrons& p, const Backward& b, const Adam& a, std::int64_t run,
                     std::int64_t begin, std::int64_t end, std::int32_t* list) {
  const float* dense = b.activation + run * b.nodes * p.hidden;
  const std::uint8_t* keep = b.keep + run * b.entries;
  const AdamRun constants = adam_run(a, run);
  const Lanes scale = spread(p.scale[run]);
  for (std::int64_t f = begin; f < end; ++f) {
    const std::int64_t count = kept_slots(b.columns, f, keep, list);
    for (std::int64_t unit = 0; unit < p.hidden; unit += 4 * LANES) {
      float grad[4 * LANES];
      Lanes total[4];
      const std::int64_t here = smaller(4 * LANES, p.hidden - unit);
      const std::int64_t slot = b.columns.start[f];
      if (here == 4 * LANES) {
        gather<4>(b.columns, slot, list, count, dense + unit, p.hidden, total);
      } else {
        for (int v = 0; v * LANES < here; ++v)
          gather<1>(b.columns, slot, list, count, dense + unit + v * LANES, p.hidden, total + v);
      }
      for (int v = 0; v * LANES < here; ++v) store(grad + v * LANES, scale * total[v]);
      const std::int64_t at = run * p.stride + f * p.hidden + unit;
      adam_span(constants, here, grad, p.weights + at, a.first + at, a.second + at);
    }
  }
}

double log_sum_exp(const float* x, std::int64_t count, float largest, float* share) {
  float total = 0;
  for (std::int64_t c = 0; c < count; ++c) total += share[c] = std::exp(x[c] - largest);
  for (std::int64_t c = 0; c < count; ++c) share[c] /= total;
  return double(largest) + std::log(double(total));
}

}  // namespace

// Logits of every run; with f.keep also masks and activations for the gradient.
void perceptrons_forward(const Perceptrons& p, const Forward& f) {
  const std::int64_t entries = f.rows.start[f.rows.rows];
  const std::int64_t pieces = (entries + 8191) / 8192;
  if (f.keep) {
#pragma omp parallel for collapse(2) schedule(static) num_threads(p.threads)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t piece = 0; piece < pieces; ++piece)
        draw_input_mask(p, f, run, piece * 8192, smaller(entries, (piece + 1) * 8192));
  }
  const std::int64_t chunks = (f.rows.rows + CHUNK - 1) / CHUNK, longest = longest_row(f.rows);
#pragma omp parallel num_threads(p.threads)
  {
    const Scratch<std::int32_t> list(longest + 1);
    const Scratch<float> buffer(p.hidden), second(p.hidden * padded(p.classes));
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const Run weights = run_weights(p, run);
        transpose_second(p, weights, second.data);
        const Pass pass{p, f, run, weights, second.data,
                        stream_key(p.seed[run], p.epoch, HIDDEN_SITE)};
        const std::int64_t begin = chunk * CHUNK;
        forward_rows(pass, begin, smaller(f.rows.rows, begin + CHUNK), list.data, buffer.data);
      }
  }
}

// One step of Adam from the gradient of the logits; weights and moments change, all at once.
void perceptrons_step(const Perceptrons& p, const Backward& b, const Adam& a) {
  const std::int64_t blocks = p.hidden / LANES;
  const std::int64_t chunks = (p.features + CHUNK - 1) / CHUNK, longest = longest_row(b.columns);
#pragma omp parallel num_threads(p.threads)
  {
    const Scratch<std::int32_t> list(longest + 1);
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t block = 0; block < blocks; ++block) {
        update_block(p, b, a, run, block * LANES);
        if (block == 0) update_second_bias(p, b, a, run);
      }
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t begin = chunk * CHUNK;
        update_features(p, b, a, run, begin, smaller(p.features, begin + CHUNK), list.data);
      }
  }
}

void score(const Scores& s) {
#pragma omp parallel for schedule(static) num_threads(s.threads)
  for (std::int64_t run = 0; run < s.runs; ++run) {
    const Scratch<float> share(s.classes);
    const std::int64_t begin = s.start[run], end = s.start[run + 1];
    const float each = end > begin ? 1.0f / float(end - begin) : 0.0f;
    double loss = 0, correct = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t at = (s.node[k] * s.runs + run) * s.classes, label = s.label[s.node[k]];
      const float* x = s.output + at;
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < s.classes; ++c) best = x[c] > x[best] ? c : best;
      correct += best == label;
      if (!s.loss) continue;
      loss += log_sum_exp(x, s.classes, x[best], share.data) - double(x[label]);
      if (!s.grad) continue;
      for (std::int64_t c = 0; c < s.classes; ++c)
        s.grad[at + c] = each * (share.data[c] - float(c == label));
    }
    if (s.loss) s.loss[run] = loss / double(end - begin);
    if (s.accuracy) s.accuracy[run] = correct / double(end - begin);
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
