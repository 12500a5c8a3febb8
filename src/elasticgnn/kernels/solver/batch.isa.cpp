// The ascent of solver/steps.isa.cpp for several lambda1 side by side.
//
// Every edge leads from a smaller to a larger node. Once the edges that leave node i have moved, no
// edge asks for the old U_i any more, and all edges of i have their new flow: on one thread U_i
// follows at once, in the same sweep. Threads take two sweeps; the bits are the same.
#include <omp.h>

#include <algorithm>

#include "solver/problem.h"
#include "simd/vec.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

#include "solver/rows.h"

// The lanes of an entry are PARTS vectors of W numbers.
constexpr int W = std::min<int>(ASCENTS, kVectorBytes / 4), PARTS = ASCENTS / W;
using P = Pack<float, W>;
using Vec = P::Vec;

// What the rows of a step share in the lanes of one part.
struct Common {
  Vec lambda1, momentum;
  float step, weight, mix, inverse;
};

// dual_row of solver/steps.isa.cpp: V <- prox(Y + step (U_i - U_j)), Y <- V + momentum (V - V_old).
// Adds Y to `sum` and returns <Y - V, V - V_old> / step.
template <bool Entrywise>
ELASTICGNN_INLINE Vec move_edge(const float* tail, const float* head, float* flow, float* ahead,
                                int d, const Common& c, Vec* sum) {
  const Vec radius = c.lambda1 * c.weight;
  Vec factor = P::splat(1.0f), uphill{};
  if constexpr (!Entrywise) {
    Vec square{};
    for (int k = 0; k < d * ASCENTS; k += ASCENTS) {
      const Vec v = P::load(ahead + k) + c.step * (P::load(tail + k) - P::load(head + k));
      square += v * v;
    }
    const Vec r = P::root(square);
    factor = r > radius ? (radius + c.mix * (r - radius)) / r : factor;
  }
  for (int k = 0; k < d; ++k) {
    const Vec before = P::load(ahead + k * ASCENTS);
    const Vec difference = P::load(tail + k * ASCENTS) - P::load(head + k * ASCENTS);
    Vec v = before + c.step * difference;
    if constexpr (Entrywise) {
      const Vec inside = P::most(P::least(v, radius), -radius);
      v = inside + c.mix * (v - inside);
    } else {
      v *= factor;
    }
    const Vec change = v - P::load(flow + k * ASCENTS);
    const Vec y = v + c.momentum * change;
    uphill += (before - v) * change;
    P::store(flow + k * ASCENTS, v);
    P::store(ahead + k * ASCENTS, y);
    sum[k] += y;
  }
  return uphill * c.inverse;
}

// Moves the edges that leave node i; `sum` is the sum of their Y.
template <int D, bool Entrywise, bool Shared>
ELASTICGNN_INLINE Vec move_edges(const Ascents& p, std::int64_t i, int at, Common c, Vec* sum) {
  const int d = width<D>(p.channels);
  const std::int64_t row = d * ASCENTS;
  std::fill(sum, sum + d, Vec{});
  Vec uphill{};
  for (std::int64_t e = p.mesh.leave[i], last = p.mesh.leave[i + 1]; e < last; ++e) {
    if constexpr (!Shared) {
      c.step = p.step[e], c.weight = p.weight[e], c.mix = p.mix[e];
      c.inverse = c.step > 0 ? 1 / c.step : 0;  // an edge of no weight does not move
    }
    uphill += move_edge<Entrywise>(p.signal + i * row + at, p.signal + p.mesh.head[e] * row + at,
                                   p.flow + e * row + at, p.ahead + e * row + at, d, c, sum);
  }
  return uphill;
}

template <int D>
ELASTICGNN_INLINE void sum_leaving(const Ascents& p, std::int64_t i, int at, Vec* sum) {
  const int d = width<D>(p.channels);
  std::fill(sum, sum + d, Vec{});
  for (std::int64_t e = p.mesh.leave[i]; e < p.mesh.leave[i + 1]; ++e)
    for (int k = 0; k < d; ++k) sum[k] += P::load(p.ahead + (e * d + k) * ASCENTS + at);
}

// U_i <- b_i - (sum of +-Y over i's edges) / h_i, where `sum` has those that leave i.
template <int D>
ELASTICGNN_INLINE void follow(const Ascents& p, std::int64_t i, int at, Vec* sum) {
  const int d = width<D>(p.channels);
  for (std::int64_t q = p.mesh.enter[i]; q < p.mesh.enter[i + 1]; ++q) {
    const float* y = p.ahead + std::int64_t(p.mesh.entering[q]) * d * ASCENTS + at;
    for (int k = 0; k < d; ++k) sum[k] -= P::load(y + k * ASCENTS);
  }
  float* const u = p.signal + i * d * ASCENTS + at;
  for (int k = 0; k < d; ++k)
    P::store(u + k * ASCENTS, P::splat(p.base[i * d + k]) - p.gain[i] * sum[k]);
}

// Work on the nodes of chunk `chunk`. `p` is a copy: vector stores may alias anything that has an
// address, and a copy has none.
template <int D, bool Entrywise, bool Shared, bool Fused>
void move_chunk(const Ascents p, std::int64_t chunk, const float* momentum, Vec* long_sum) {
  Vec short_sum[D > 0 ? D : 1];
  Vec* const sum = D > 0 ? short_sum : long_sum;
  const std::int64_t end = std::min(p.mesh.nodes, (chunk + 1) * CHUNK);
  for (int at = 0; at < ASCENTS; at += W) {
    const float step = *p.step;
    const Common c{P::load(p.lambda1 + at), P::load(momentum + at), step, *p.weight, *p.mix,
                   step > 0 ? 1 / step : 0};
    Vec uphill{};
    for (std::int64_t i = chunk * CHUNK; i < end; ++i) {
      uphill += move_edges<D, Entrywise, Shared>(p, i, at, c, sum);
      if constexpr (Fused) follow<D>(p, i, at, sum);
    }
    for (int lane = 0; lane < W; ++lane) p.partial[chunk * ASCENTS + at + lane] = uphill[lane];
  }
}

template <int D>
void follow_chunk(const Ascents p, std::int64_t chunk, Vec* long_sum) {
  Vec short_sum[D > 0 ? D : 1];
  Vec* const sum = D > 0 ? short_sum : long_sum;
  const std::int64_t end = std::min(p.mesh.nodes, (chunk + 1) * CHUNK);
  for (std::int64_t i = chunk * CHUNK; i < end; ++i)
    for (int at = 0; at < ASCENTS; at += W) {
      sum_leaving<D>(p, i, at, sum);
      follow<D>(p, i, at, sum);
    }
}

// Calls work(chunk, scratch of the thread) for all chunks of nodes.
template <class Work>
void for_chunks(const Ascents& p, int threads, Work work) {
  const std::int64_t chunks = (p.mesh.nodes + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t c = 0; c < chunks; ++c)
    work(c, reinterpret_cast<Vec*>(p.sum) + omp_get_thread_num() * p.channels);
}

template <int D, bool Entrywise, bool Shared>
void step_ascents(const Ascents& p, int threads) {
  float momentum[ASCENTS];
  for (int l = 0; l < ASCENTS; ++l) momentum[l] = float(p.age[l]) / float(p.age[l] + 3);
  if (threads == 1) {
    for_chunks(p, 1, [&](std::int64_t c, Vec* sum) {
      move_chunk<D, Entrywise, Shared, true>(p, c, momentum, sum);
    });
  } else {
    for_chunks(p, threads, [&](std::int64_t c, Vec* sum) {
      move_chunk<D, Entrywise, Shared, false>(p, c, momentum, sum);
    });
    for_chunks(p, threads, [&](std::int64_t c, Vec* sum) { follow_chunk<D>(p, c, sum); });
  }
  double uphill[ASCENTS] = {};
  for (std::int64_t c = 0; c < p.mesh.nodes; c += CHUNK)
    for (int l = 0; l < ASCENTS; ++l) uphill[l] += p.partial[c / CHUNK * ASCENTS + l];
  // where the momentum points uphill, its memory is halved
  for (int l = 0; l < ASCENTS; ++l) p.age[l] = uphill[l] > 0 ? (p.age[l] + 1) / 2 : p.age[l] + 1;
}

template <int D>
void run_ascents(const Ascents& p, int steps, int threads, Interrupt& interrupt) {
  const auto step = p.entrywise
                        ? (p.stride ? step_ascents<D, true, false> : step_ascents<D, true, true>)
                        : (p.stride ? step_ascents<D, false, false> : step_ascents<D, false, true>);
  for_chunks(p, threads, [&](std::int64_t c, Vec* sum) { follow_chunk<D>(p, c, sum); });
  for (int s = 0; s < steps && !interrupt.wanted(interrupt.context); ++s) step(p, threads);
}

}  // namespace

void advance_ascents(const Ascents& p, int steps, int threads, Interrupt& interrupt) {
  switch (p.channels) {
    case 1:
      return run_ascents<1>(p, steps, threads, interrupt);
    case 2:
      return run_ascents<2>(p, steps, threads, interrupt);
    case 3:
      return run_ascents<3>(p, steps, threads, interrupt);
    default:
      return run_ascents<0>(p, steps, threads, interrupt);
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
