// Forward passes of training/population/batch.py; nn/mlp.py and nn/gcn.py state the same in torch.
// Callers have checked shapes, types and contiguity: nothing here throws.
// Every sum has one owner and one order, so results do not depend on threads or on other runs.
#include "features/dropout.h"
#include "features/product.h"
#include "perceptrons/problem.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

constexpr std::int64_t NODES = 4;  // whose second layers are computed together

struct RunPass {
  const Perceptrons& p;
  const PerceptronForward& f;
  std::int64_t run;
  std::uint64_t input_key, hidden_key;
  const float* first;  // what the entries of a node's row choose rows of: weights, or mixed rows
  float scale;         // of those entries: dropout's
  const float *first_bias, *second_bias;
  const float* second;  // (hidden, class_width): one lane per class
  std::int64_t class_width;
};

// x where the hash of its position survives, scaled; else 0.
[[gnu::always_inline]] inline Vec16 drop(const RunPass& s, Vec16 x, std::int64_t position) {
  const Words16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Words16 hash = hash_position(lanes + std::uint32_t(position), s.hidden_key);
  return hash >= s.p.threshold[s.run] ? x * s.p.scale[s.run] : Vec16{};
}

// Hidden units from `unit` on of one node: relu(values times rows of `first` + bias).
template <int V, bool Train>
[[gnu::always_inline]] inline void units(const RunPass& s, std::int64_t node,
                                         const std::int32_t* column, const float* value,
                                         std::int64_t count, std::int64_t unit, float* hidden) {
  weighted_rows<V>(column, value, count, s.first + unit, s.p.hidden, s.scale, hidden + unit);
  for (int v = 0; v < V; ++v) {
    const std::int64_t u = unit + v * LANES;
    Vec16 x = load(hidden + u) + load(s.first_bias + u);
    x = x > 0 ? x : Vec16{};
    store(hidden + u, Train ? drop(s, x, node * s.p.real_hidden + u) : x);
  }
}

template <bool Train>
[[gnu::always_inline]] inline void hidden_row(const RunPass& s, std::int64_t node,
                                              const std::int32_t* column, const float* value,
                                              std::int64_t count, float* hidden) {
  std::int64_t unit = 0;
  for (; unit + 4 * LANES <= s.p.hidden; unit += 4 * LANES)
    units<4, Train>(s, node, column, value, count, unit, hidden);
  for (; unit < s.p.hidden; unit += LANES)
    units<1, Train>(s, node, column, value, count, unit, hidden);
}

typedef float Classes __attribute__((vector_size(32)));  // eight classes
typedef float UnalignedClasses __attribute__((vector_size(32), aligned(4), may_alias));

// Logits of up to NODES nodes, eight classes at a time; hidden (NODES, hidden).
template <int N>
[[gnu::always_inline]] inline void second_layer(const RunPass& s, std::int64_t node,
                                                const float* hidden) {
  const std::int64_t width = s.p.hidden;
  for (std::int64_t c0 = 0; c0 < s.p.classes; c0 += 8) {
    Classes even[N] = {}, odd[N] = {};
    const float* w = s.second + c0;
    for (std::int64_t u = 0; u < width; u += 2) {
      const Classes w0 = *reinterpret_cast<const UnalignedClasses*>(w + u * s.class_width);
      const Classes w1 = *reinterpret_cast<const UnalignedClasses*>(w + (u + 1) * s.class_width);
      for (int i = 0; i < N; ++i) {
        even[i] += hidden[i * width + u] * w0;
        odd[i] += hidden[i * width + u + 1] * w1;
      }
    }
    const auto here = smaller(8, s.p.classes - c0);
    for (int i = 0; i < N; ++i) {
      float* out = s.f.logits + ((node + i) * s.p.runs + s.run) * s.p.classes + c0;
      const Classes sum = even[i] + odd[i];
      for (std::int64_t c = 0; c < here; ++c) out[c] = sum[c] + s.second_bias[c0 + c];
    }
  }
}

void second_layers(const RunPass& s, std::int64_t begin, std::int64_t end, const float* hidden) {
  std::int64_t node = begin;
  for (; node + NODES <= end; node += NODES)
    second_layer<NODES>(s, node, hidden + (node - begin) * s.p.hidden);
  for (; node < end; ++node) second_layer<1>(s, node, hidden + (node - begin) * s.p.hidden);
}

void train_rows(const RunPass& s, std::int64_t begin, std::int64_t end, KeptEntries& kept) {
  const SparseRows& m = s.f.rows;
  float* hidden = s.f.activation + (s.run * m.rows + begin) * s.p.hidden;
  kept.select(m.start[begin], m.start[end], s.input_key, s.p.threshold[s.run]);
  std::int64_t from = 0;
  for (std::int64_t node = begin; node < end; ++node) {
    const std::int64_t to = kept.position(m.start[node + 1]);
    hidden_row<true>(s, node, kept.column.data + from, kept.value.data + from, to - from,
                     hidden + (node - begin) * s.p.hidden);
    from = to;
  }
  second_layers(s, begin, end, hidden);
}

// From all entries of the rows of `m`, which is the features or the graph's matrix.
template <bool Train>
void whole_rows(const RunPass& s, const SparseRows& m, std::int64_t begin, std::int64_t end,
                float* hidden) {
  for (std::int64_t node = begin; node < end; ++node) {
    const std::int64_t q = m.start[node];
    hidden_row<Train>(s, node, m.column + q, m.value + q, m.start[node + 1] - q,
                      hidden + (node - begin) * s.p.hidden);
  }
  second_layers(s, begin, end, hidden);
}

// The first layer's products with the features, before the graph's matrix.
void mixed_rows(const RunPass& s, std::int64_t begin, std::int64_t end, KeptEntries& kept) {
  const SparseRows& m = s.f.rows;
  const bool train = s.f.activation != nullptr;
  if (train) kept.select(m.start[begin], m.start[end], s.input_key, s.p.threshold[s.run]);
  float* out = s.p.convolution.mixed + (s.run * m.rows + begin) * s.p.hidden;
  const std::int32_t* column = train ? kept.column.data : m.column + m.start[begin];
  const float* value = train ? kept.value.data : m.value + m.start[begin];
  std::int64_t from = 0;
  for (std::int64_t node = begin; node < end; ++node, out += s.p.hidden) {
    const std::int64_t next = m.start[node + 1];
    const std::int64_t to = train ? kept.position(next) : next - m.start[begin];
    weighted_row(column + from, value + from, to - from, s.first, s.p.hidden, s.scale, out);
    from = to;
  }
}

// The second layer as (hidden, width): one lane per class.
void transpose_second(const Perceptrons& p, const float* second, std::int64_t width, float* w) {
  for (std::int64_t c = 0; c < p.classes; ++c)
    for (std::int64_t u = 0; u < p.hidden; ++u) w[u * width + c] = second[c * p.hidden + u];
}

RunPass start_pass(const Perceptrons& p, const PerceptronForward& f, std::int64_t run,
                   float* transposed) {
  const float* first = p.weights + run * p.stride;
  const float* bias = first + p.features * p.hidden;
  const float* second = bias + p.hidden;
  const std::int64_t class_width = (p.classes + 7) / 8 * 8;
  transpose_second(p, second, class_width, transposed);
  return {p,
          f,
          run,
          stream_key(p.seed[run], p.epoch, INPUT_SITE),
          stream_key(p.seed[run], p.epoch, HIDDEN_SITE),
          first,
          f.activation ? p.scale[run] : 1.0f,
          bias,
          second + p.classes * p.hidden,
          transposed,
          class_width};
}

// The pass behind the graph's matrix: from mixed rows, without the last bias.
RunPass behind_matrix(RunPass pass, const float* zeros) {
  pass.first = pass.p.convolution.mixed + pass.run * pass.f.rows.rows * pass.p.hidden;
  pass.scale = 1.0f;
  pass.second_bias = zeros;
  return pass;
}

// What a thread needs of its own.
struct Buffers {
  KeptEntries kept;
  Zeroed<float> hidden, second, zeros;

  Buffers(const Perceptrons& p, const PerceptronForward& f, std::int64_t entries)
      : kept(f.rows, entries),
        hidden(f.activation ? 1 : PERCEPTRON_ROWS * p.hidden),
        second(p.hidden * (p.classes + 8)),
        zeros(p.classes) {}
};

void perceptron_rows(const RunPass& pass, std::int64_t begin, std::int64_t end, Buffers& own) {
  if (pass.f.activation) train_rows(pass, begin, end, own.kept);
  else whole_rows<false>(pass, pass.f.rows, begin, end, own.hidden.data);
}

void convolved_rows(const RunPass& pass, std::int64_t begin, std::int64_t end, Buffers& own) {
  const RunPass behind = behind_matrix(pass, own.zeros.data);
  const SparseRows& matrix = pass.p.convolution.matrix;
  if (pass.f.activation) {
    float* hidden = pass.f.activation + (pass.run * pass.f.rows.rows + begin) * pass.p.hidden;
    whole_rows<true>(behind, matrix, begin, end, hidden);
  } else {
    whole_rows<false>(behind, matrix, begin, end, own.hidden.data);
  }
}

// Calls rows(pass, begin, end, buffers) for all rows of all runs, spread over the threads.
template <class Rows>
void for_all_rows(const Perceptrons& p, const PerceptronForward& f, Rows rows) {
  const std::int64_t tasks = (f.rows.rows + PERCEPTRON_ROWS - 1) / PERCEPTRON_ROWS;
  const std::int64_t entries = f.activation ? most_entries(f.rows, PERCEPTRON_ROWS) : 0;
#pragma omp parallel num_threads(p.threads)
  {
    Buffers own(p, f, entries);
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t task = 0; task < tasks; ++task) {
        const RunPass pass = start_pass(p, f, run, own.second.data);
        const std::int64_t begin = task * PERCEPTRON_ROWS;
        rows(pass, begin, smaller(f.rows.rows, begin + PERCEPTRON_ROWS), own);
      }
  }
}

// logits <- A linear + the last bias of each run.
void last_product(const Perceptrons& p, const PerceptronForward& f) {
  const std::int64_t width = p.runs * p.classes;
  sparse_product({p.convolution.matrix, p.convolution.linear, f.logits, width, p.threads});
  const float* bias = p.weights + (p.features + 1 + p.classes) * p.hidden;
  for (std::int64_t node = 0; node < f.rows.rows; ++node)
    for (std::int64_t run = 0; run < p.runs; ++run)
      for (std::int64_t c = 0; c < p.classes; ++c)
        f.logits[node * width + run * p.classes + c] += bias[run * p.stride + c];
}

}  // namespace

// Logits of every run; with f.activation under dropout, keeping what the gradient needs.
void perceptrons_forward(const Perceptrons& p, const PerceptronForward& f) {
  if (!p.convolution.present()) return for_all_rows(p, f, perceptron_rows);
  for_all_rows(p, f, [](const RunPass& pass, std::int64_t begin, std::int64_t end, Buffers& own) {
    mixed_rows(pass, begin, end, own.kept);
  });
  for_all_rows(p, {f.rows, f.activation, p.convolution.linear}, convolved_rows);
  last_product(p, f);
}

}  // namespace elasticgnn::ISA_NAMESPACE
