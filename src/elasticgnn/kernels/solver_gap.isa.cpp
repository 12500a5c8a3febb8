// The float64 side of a check: flow in its ball, its signal, objective, gap and rounding.
// solver/measure.py states the same in numpy.
#include <algorithm>
#include <cmath>

#include "solver.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

constexpr std::int64_t CHUNK = 4096;

inline void add(GapTerms& total, const GapTerms& term) {
  total.objective += term.objective;
  total.gap += term.gap;
  total.rounding += term.rounding;
  total.square += term.square;
}

// phi(size) w + phi*(reach / w) w - inner, with the sizes of its parts
inline GapTerms fenchel_young(const Pair& p, double w, double size, double reach, double inner) {
  const double value = w * (p.lambda1 * size + p.lambda2 / 2 * size * size);
  double conjugate = 0;
  if (p.lambda2 > 0 && w > 0) {
    const double beyond = std::max(reach - p.lambda1 * w, 0.0);
    conjugate = beyond * beyond / (2 * p.lambda2 * w);
  }
  return {value, std::max(value + conjugate - inner, 0.0), 8 * (value + conjugate), 0};
}

GapTerms edge_terms(const Pair& p, std::int64_t e) {
  const int d = p.channels;
  const double w = p.weight[e];
  const double* tail = p.signal + std::int64_t(p.mesh.tail[e]) * d;
  const double* head = p.signal + std::int64_t(p.mesh.head[e]) * d;
  const double* flow = p.flow + e * d;
  GapTerms total{0, 0, 0, 0};
  double square = 0, reach = 0, inner = 0, spread = 0;
  for (int k = 0; k < d; ++k) {
    const double delta = tail[k] - head[k];
    const double slope = w * (p.lambda1 + p.lambda2 * std::abs(delta)) + std::abs(flow[k]);
    spread += 8 * slope * (std::abs(tail[k]) + std::abs(head[k]));
    if (p.entrywise) {
      add(total, fenchel_young(p, w, std::abs(delta), std::abs(flow[k]), delta * flow[k]));
    } else {
      square += delta * delta;
      reach += flow[k] * flow[k];
      inner += delta * flow[k];
    }
  }
  if (!p.entrywise) total = fenchel_young(p, w, std::sqrt(square), std::sqrt(reach), inner);
  total.rounding += spread;
  return total;
}

GapTerms node_terms(const Pair& p, std::int64_t i) {
  const int d = p.channels;
  const double h = p.stiff[i];
  const std::int64_t degree =
      p.mesh.leave[i + 1] - p.mesh.leave[i] + p.mesh.enter[i + 1] - p.mesh.enter[i];
  GapTerms total{0, 0, 0, 0};
  for (int k = 0; k < d; ++k) {
    double flux = 0, size = 0;
    for (std::int64_t e = p.mesh.leave[i]; e < p.mesh.leave[i + 1]; ++e) {
      flux += p.flow[e * d + k];
      size += std::abs(p.flow[e * d + k]);
    }
    for (std::int64_t q = p.mesh.enter[i]; q < p.mesh.enter[i + 1]; ++q) {
      const double v = p.flow[std::int64_t(p.mesh.entering[q]) * d + k];
      flux -= v;
      size += std::abs(v);
    }
    p.divergence[i * d + k] = flux;
    if (!(h > 0)) continue;
    const double u = p.signal[i * d + k], b = p.center[i * d + k];
    const double residual = h * (u - b) + flux;
    const double noise = 4 * h * (std::abs(u) + std::abs(b)) + double(degree + 4) * size;
    total.objective += h * (u - b) * (u - b) / 2;
    total.gap += residual * residual / (2 * h);
    total.rounding += std::abs(residual) * noise / h;
    total.square += noise * noise / h;
  }
  return total;
}

template <class Term>
GapTerms sum_chunks(const Pair& p, std::int64_t rows, Term term) {
  const std::int64_t chunks = (rows + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t c = 0; c < chunks; ++c) {
    GapTerms part{0, 0, 0, 0};
    const std::int64_t end = std::min(rows, (c + 1) * CHUNK);
    for (std::int64_t r = c * CHUNK; r < end; ++r) add(part, term(p, r));
    double* out = p.partial + 4 * c;
    out[0] = part.objective, out[1] = part.gap, out[2] = part.rounding, out[3] = part.square;
  }
  GapTerms total{0, 0, 0, 0};
  for (std::int64_t c = 0; c < chunks; ++c) {
    const double* in = p.partial + 4 * c;
    add(total, {in[0], in[1], in[2], in[3]});
  }
  return total;
}

// One row of `out` <- row of `flow`, pulled back onto the ball of `radius`.
template <class T>
void keep_row(const T* flow, double* out, int d, bool entrywise, double radius) {
  double square = 0;
  for (int k = 0; k < d; ++k) {
    out[k] = flow[k];
    if (entrywise) out[k] = std::min(std::max(out[k], -radius), radius);
    square += out[k] * out[k];
  }
  if (entrywise || !(square > radius * radius)) return;
  const double factor = radius / std::sqrt(square);
  for (int k = 0; k < d; ++k) out[k] *= factor;
}

template <class T>
void keep_rows(const Pair& p, const T* flow, double* out) {
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t e = 0; e < p.mesh.edges; ++e) {
    // with a quadratic penalty the folded dual may leave the ball, unless the edge has no weight
    const bool open = p.lambda2 > 0 && p.weight[e] > 0;
    const double radius = open ? HUGE_VAL : p.lambda1 * p.weight[e];
    keep_row(flow + e * p.channels, out + e * p.channels, p.channels, p.entrywise, radius);
  }
}

}  // namespace

void keep_float(const Pair& p, const float* flow, double* out) { keep_rows(p, flow, out); }
void keep_double(const Pair& p, const double* flow, double* out) { keep_rows(p, flow, out); }

// out_i <- b_i - (sum of +-V over i's edges) / h_i, with b and h of the ascent (p.center, p.stiff)
void flow_signal(const Pair& p, double* out) {
  const int d = p.channels;
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t i = 0; i < p.mesh.nodes; ++i) {
    double* u = out + i * d;
    for (int k = 0; k < d; ++k) u[k] = 0;
    for (std::int64_t e = p.mesh.leave[i]; e < p.mesh.leave[i + 1]; ++e)
      for (int k = 0; k < d; ++k) u[k] += p.flow[e * d + k];
    for (std::int64_t q = p.mesh.enter[i]; q < p.mesh.enter[i + 1]; ++q) {
      const double* v = p.flow + std::int64_t(p.mesh.entering[q]) * d;
      for (int k = 0; k < d; ++k) u[k] -= v[k];
    }
    for (int k = 0; k < d; ++k) u[k] = p.center[i * d + k] - u[k] / p.stiff[i];
  }
}

GapTerms gap_terms(const Pair& p) {
  GapTerms total = sum_chunks(p, p.mesh.edges, edge_terms);
  add(total, sum_chunks(p, p.mesh.nodes, node_terms));
  return total;
}

}  // namespace elasticgnn::ISA_NAMESPACE
