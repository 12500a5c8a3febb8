// The float64 side of a check: flow in its ball, its signal, objective, gap and rounding.
// solver/certificate/measure.py states the same in numpy.
#include <algorithm>
#include <cmath>

#include "solver/problem.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

#include "solver/rows.h"

constexpr double SHORTEST_SQUARE = 1e-280;

inline void add(GapTerms& total, const GapTerms& term) {
  total.objective += term.objective;
  total.gap += term.gap;
  total.rounding += term.rounding;
  total.square += term.square;
}

// Fenchel-Young per edge: phi(size) w + phi*(reach / w) w - inner, with the sizes of its parts.
template <int D, bool Entrywise>
GapTerms edge_chunk(const Pair& p, std::int64_t begin, std::int64_t end) {
  const int d = width<D>(p.channels);
  const double lambda1 = p.lambda1, lambda2 = p.lambda2;
  double objective = 0, gap = 0, rounding = 0;
#pragma omp simd reduction(+ : objective, gap, rounding)
  for (std::int64_t e = begin; e < end; ++e) {
    const double w = p.weight[e];
    const double* tail = p.signal + std::int64_t(p.mesh.tail[e]) * d;
    const double* head = p.signal + std::int64_t(p.mesh.head[e]) * d;
    const double* flow = p.flow + e * d;
    const double soft = lambda2 > 0 && w > 0 ? 1 / (2 * lambda2 * w) : 0;
    double square = 0, reach = 0, inner = 0, spread = 0, sum = 0;
#pragma GCC unroll 4
    for (int k = 0; k < d; ++k) {
      const double delta = tail[k] - head[k];
      const double size = std::abs(delta), force = std::abs(flow[k]);
      const double parts = p.unscaled ? size : std::abs(tail[k]) + std::abs(head[k]);
      spread += (w * (lambda1 + lambda2 * size) + force) * parts;
      if (Entrywise) {
        const double value = w * size * (lambda1 + lambda2 / 2 * size);
        const double beyond = std::max(force - lambda1 * w, 0.0);
        const double conjugate = soft * beyond * beyond;
        objective += value;
        gap += std::max(value + conjugate - delta * flow[k], 0.0);
        rounding += 8 * (value + conjugate);
      } else {
        sum += size;
        square += delta * delta;
        reach += flow[k] * flow[k];
        inner += delta * flow[k];
      }
    }
    if (!Entrywise) {
      // where squares lose digits their sum says nothing; the sum of the sizes is no less
      const double length = square > SHORTEST_SQUARE ? std::sqrt(square) : sum;
      const double value = w * (lambda1 * length + lambda2 / 2 * square);
      const double beyond = std::max(std::sqrt(reach) - lambda1 * w, 0.0);
      const double conjugate = soft * beyond * beyond;
      objective += value;
      gap += std::max(value + conjugate - inner, 0.0);
      rounding += 8 * (value + conjugate);
    }
    rounding += 8 * spread;
  }
  return {objective, gap, rounding, 0};
}

// The data term of each node against the divergence that its flow brings.
template <int D>
GapTerms node_chunk(const Pair& p, std::int64_t begin, std::int64_t end) {
  const int d = width<D>(p.channels);
  double objective = 0, gap = 0, rounding = 0, square = 0;
#pragma omp simd reduction(+ : objective, gap, rounding, square)
  for (std::int64_t i = begin; i < end; ++i) {
    const double h = p.stiff[i], inverse = h > 0 ? 1 / h : 0;  // 0: nothing is asked of the node
    const double degree =
        double(p.mesh.leave[i + 1] - p.mesh.leave[i] + p.mesh.enter[i + 1] - p.mesh.enter[i]);
#pragma GCC unroll 4
    for (int k = 0; k < d; ++k) {
      const double u = p.signal[i * d + k], b = p.center[i * d + k];
      const double residual = h * (u - b) + p.divergence[i * d + k];
      const double parts = p.unscaled ? std::abs(u - b) : std::abs(u) + std::abs(b);
      const double noise = 4 * h * parts + (degree + 4) * p.traffic[i * d + k];
      objective += h * (u - b) * (u - b) / 2;
      gap += inverse * residual * residual / 2;
      rounding += inverse * std::abs(residual) * noise;
      square += inverse * noise * noise;
    }
  }
  return {objective, gap, rounding, square};
}

template <class Chunk>
GapTerms sum_chunks(const Pair& p, std::int64_t rows, Chunk chunk) {
  const std::int64_t chunks = (rows + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t c = 0; c < chunks; ++c) {
    const GapTerms part = chunk(p, c * CHUNK, std::min(rows, (c + 1) * CHUNK));
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

template <int D>
GapTerms gap_width(const Pair& p) {
  const auto edges = p.entrywise ? edge_chunk<D, true> : edge_chunk<D, false>;
  GapTerms total = sum_chunks(p, p.mesh.edges, edges);
  add(total, sum_chunks(p, p.mesh.nodes, node_chunk<D>));
  return total;
}

// One row of `out` <- row of `flow`, projected onto the ball of `radius`.
template <class T>
void project_row(const T* flow, double* out, int d, bool entrywise, double radius) {
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
void project_rows(const Pair& p, const T* flow, double* out) {
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t e = 0; e < p.mesh.edges; ++e) {
    // with a quadratic penalty the folded dual may leave the ball, unless the edge has no weight
    const bool open = p.lambda2 > 0 && p.weight[e] > 0;
    const double radius = open ? HUGE_VAL : p.lambda1 * p.weight[e];
    project_row(flow + e * p.channels, out + e * p.channels, p.channels, p.entrywise, radius);
  }
}

// flux <- sum of +-V and size <- sum of |V| over the edges of node i
template <int D>
inline void meet_edges(const Pair& p, std::int64_t i, double* flux, double* size) {
  const int d = width<D>(p.channels);
  for (std::int64_t e = p.mesh.leave[i]; e < p.mesh.leave[i + 1]; ++e)
    for (int k = 0; k < d; ++k) {
      const double v = p.flow[e * d + k];
      flux[k] += v;
      size[k] += std::abs(v);
    }
  for (std::int64_t q = p.mesh.enter[i]; q < p.mesh.enter[i + 1]; ++q)
    for (int k = 0; k < d; ++k) {
      const double v = p.flow[std::int64_t(p.mesh.entering[q]) * d + k];
      flux[k] -= v;
      size[k] += std::abs(v);
    }
}

template <int D>
void signal_width(const Pair& p, double* out) {
  const int d = width<D>(p.channels);
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t i = 0; i < p.mesh.nodes; ++i) {
    double *divergence = p.divergence + i * d, *traffic = p.traffic + i * d;
    if constexpr (D > 0) {  // sums in registers
      double flux[D] = {}, size[D] = {};
      meet_edges<D>(p, i, flux, size);
      for (int k = 0; k < d; ++k) divergence[k] = flux[k], traffic[k] = size[k];
    } else {
      std::fill(divergence, divergence + d, 0.0);
      std::fill(traffic, traffic + d, 0.0);
      meet_edges<D>(p, i, divergence, traffic);
    }
    for (int k = 0; k < d; ++k) out[i * d + k] = p.center[i * d + k] - divergence[k] / p.stiff[i];
  }
}

}  // namespace

void project_float(const Pair& p, const float* flow, double* out) { project_rows(p, flow, out); }
void project_double(const Pair& p, const double* flow, double* out) { project_rows(p, flow, out); }

// divergence_i <- sum of +-V, traffic_i <- sum of |V|, out_i <- b_i - divergence_i / h_i
void flow_signal(const Pair& p, double* out) {
  switch (p.channels) {
    case 1:
      return signal_width<1>(p, out);
    case 2:
      return signal_width<2>(p, out);
    case 3:
      return signal_width<3>(p, out);
    default:
      return signal_width<0>(p, out);
  }
}

GapTerms gap_terms(const Pair& p) {
  switch (p.channels) {
    case 1:
      return gap_width<1>(p);
    case 2:
      return gap_width<2>(p);
    case 3:
      return gap_width<3>(p);
    default:
      return gap_width<0>(p);
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
