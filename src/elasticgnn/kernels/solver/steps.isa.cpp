// Accelerated projection on the folded dual; solver/ascent/reference.py states the same in numpy.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "solver/problem.h"
#include "simd/vec.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

#include "solver/pairs.h"
#include "solver/rows.h"

// U_i <- b_i - (sum of +-Y over i's edges) / h_i; the row lives in registers.
template <class T, int D>
inline void primal_row(const Ascent<T>& p, std::int64_t i) {
  T u[D] = {};
  const std::int64_t last = p.mesh.leave[i + 1], end = p.mesh.enter[i + 1];
  for (std::int64_t e = p.mesh.leave[i]; e < last; ++e)
    for (int k = 0; k < D; ++k) u[k] += p.ahead[e * D + k];
  for (std::int64_t q = p.mesh.enter[i]; q < end; ++q) {
    const T* y = p.ahead + std::int64_t(p.mesh.entering[q]) * D;
    for (int k = 0; k < D; ++k) u[k] -= y[k];
  }
  const T gain = p.gain[i];
  for (int k = 0; k < D; ++k) p.signal[i * D + k] = p.base[i * D + k] - gain * u[k];
}

// The same for any number of channels: the row lives in `signal`.
template <class T>
inline void long_primal_row(const Ascent<T>& p, std::int64_t i) {
  const int d = p.channels;
  T* u = p.signal + i * d;
  std::fill(u, u + d, T(0));
  for (std::int64_t e = p.mesh.leave[i]; e < p.mesh.leave[i + 1]; ++e)
    for (int k = 0; k < d; ++k) u[k] += p.ahead[e * d + k];
  for (std::int64_t q = p.mesh.enter[i]; q < p.mesh.enter[i + 1]; ++q) {
    const T* y = p.ahead + std::int64_t(p.mesh.entering[q]) * d;
    for (int k = 0; k < d; ++k) u[k] -= y[k];
  }
  for (int k = 0; k < d; ++k) u[k] = p.base[i * d + k] - p.gain[i] * u[k];
}

template <class T, int D>
void primal_sweep(const Ascent<T>& p) {
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t i = 0; i < p.mesh.nodes; ++i) {
    if constexpr (D > 0) primal_row<T, D>(p, i);
    else long_primal_row<T>(p, i);
  }
}

// Length r after the prox of the folded dual: beyond the radius only the share `mix` stays.
template <class T>
inline T shrunk(T r, T radius, T mix) {
  return r > radius ? radius + mix * (r - radius) : r;
}

// V <- prox(Y + step (U_i - U_j)), Y <- V + momentum (V - V_old) for one row.
// Returns <Y - V, V - V_old> / step: the sum over rows is positive once momentum overshoots.
template <class T, int D, bool Entrywise>
inline T dual_row(T* flow, T* ahead, const T* tail, const T* head, T step, T radius, T mix,
                  T momentum, int channels) {
  const int d = width<D>(channels);
  T factor = 1;
  if (!Entrywise) {
    T square = 0;
#pragma GCC unroll 4
    for (int k = 0; k < d; ++k) {
      const T v = ahead[k] + step * (tail[k] - head[k]);
      square += v * v;
    }
    const T r = std::sqrt(square);
    factor = shrunk(r, radius, mix) / std::max(r, std::numeric_limits<T>::min());
  }
  T uphill = 0;
#pragma GCC unroll 4
  for (int k = 0; k < d; ++k) {
    T v = ahead[k] + step * (tail[k] - head[k]);
    v = Entrywise ? std::copysign(shrunk(std::abs(v), radius, mix), v) : v * factor;
    const T change = v - flow[k];
    uphill += (ahead[k] - v) * change;
    flow[k] = v;
    ahead[k] = v + momentum * change;
  }
  return step > 0 ? uphill / step : T(0);
}

template <class T, int D, bool Entrywise, bool Shared>
T dual_chunk(const Ascent<T>& p, std::int64_t begin, std::int64_t end, T momentum) {
  const int d = width<D>(p.channels);
  const T* const signal = p.signal;
  T* const flow = p.flow;
  T* const ahead = p.ahead;
  const std::int32_t* const tail = p.mesh.tail;
  const std::int32_t* const head = p.mesh.head;
  const T *const steps = p.step, *const radii = p.radius, *const mixes = p.mix;
  const T step = *steps, radius = *radii, mix = *mixes;  // of all rows, if shared
  T uphill = 0;
#if defined(ELASTICGNN_PAIRS)
  if constexpr (std::is_same_v<T, float> && D == 2 && !Entrywise)
    uphill = dual_pairs<Shared>(p, begin, end, momentum);
#endif
#pragma omp simd reduction(+ : uphill)
  for (std::int64_t e = begin; e < end; ++e)
    uphill +=
        dual_row<T, D, Entrywise>(flow + e * d, ahead + e * d, signal + std::int64_t(tail[e]) * d,
                                  signal + std::int64_t(head[e]) * d, Shared ? step : steps[e],
                                  Shared ? radius : radii[e], Shared ? mix : mixes[e], momentum, d);
  return uphill;
}

template <class T, int D, bool Entrywise, bool Shared>
double dual_sweep(const Ascent<T>& p, T momentum) {
  const std::int64_t chunks = (p.mesh.edges + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t c = 0; c < chunks; ++c)
    p.partial[c] = dual_chunk<T, D, Entrywise, Shared>(
        p, c * CHUNK, std::min(p.mesh.edges, (c + 1) * CHUNK), momentum);
  double total = 0;
  for (std::int64_t c = 0; c < chunks; ++c) total += p.partial[c];
  return total;
}

template <class T, int D>
double dual_sweep_of(const Ascent<T>& p, T momentum) {
  if (p.stride == 0)
    return p.entrywise ? dual_sweep<T, D, true, true>(p, momentum)
                       : dual_sweep<T, D, false, true>(p, momentum);
  return p.entrywise ? dual_sweep<T, D, true, false>(p, momentum)
                     : dual_sweep<T, D, false, false>(p, momentum);
}

template <class T, int D>
int advance_width(const Ascent<T>& p, int steps, int age, Interrupt& interrupt) {
  for (int s = 0; s < steps && !interrupt.wanted(interrupt.context); ++s) {
    primal_sweep<T, D>(p);
    ++age;
    const double uphill = dual_sweep_of<T, D>(p, T(age - 1) / T(age + 2));
    if (uphill > 0) age /= 2;  // the momentum points uphill: halve its memory
  }
  return age;
}

template <class T>
int advance(const Ascent<T>& p, int steps, int age, Interrupt& interrupt) {
  switch (p.channels) {
    case 1:
      return advance_width<T, 1>(p, steps, age, interrupt);
    case 2:
      return advance_width<T, 2>(p, steps, age, interrupt);
    case 3:
      return advance_width<T, 3>(p, steps, age, interrupt);
    case 4:
      return advance_width<T, 4>(p, steps, age, interrupt);
    default:
      return advance_width<T, 0>(p, steps, age, interrupt);
  }
}

}  // namespace

int advance_float(const Ascent<float>& p, int steps, int age, Interrupt& interrupt) {
  return advance(p, steps, age, interrupt);
}
int advance_double(const Ascent<double>& p, int steps, int age, Interrupt& interrupt) {
  return advance(p, steps, age, interrupt);
}

}  // namespace elasticgnn::ISA_NAMESPACE
