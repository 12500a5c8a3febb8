// The forward pass for rows of at most 16 floats and the Euclidean norm, when nothing has to be kept.
// Rows are padded to P = 4, 8 or 16 floats and G = 16 / P of them share a register. The dual lies on both
// directions of every edge, in the order in which a node meets them: it streams, nothing is scattered, and
// both ends do the same arithmetic. Each node's slots are filled up to whole registers with the node
// itself: the difference is 0 there, and `own` takes back what such slots add to the sum of neighbours.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__)

#include <immintrin.h>
#include <omp.h>

#include <algorithm>

#include "emp_plan.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <int P>
struct Packed {
  static constexpr int G = 16 / P;

  static __m512 everywhere(const float* row) {
    if constexpr (P == 4) return _mm512_broadcast_f32x4(_mm_loadu_ps(row));
    else if constexpr (P == 8) return _mm512_broadcast_f32x8(_mm256_loadu_ps(row));
    else return _mm512_loadu_ps(row);
  }

  static void store(float* row, __m512 value) {
    if constexpr (P == 4) _mm_storeu_ps(row, _mm512_castps512_ps128(value));
    else if constexpr (P == 8) _mm256_storeu_ps(row, _mm512_castps512_ps256(value));
    else _mm512_storeu_ps(row, value);
  }

  static __m512 gather(const float* table, const std::int32_t* c) {
    const auto at = [&](int g) { return table + std::int64_t(c[g]) * P; };
    if constexpr (P == 4) {
      __m512 rows = _mm512_castps128_ps512(_mm_loadu_ps(at(0)));
      rows = _mm512_insertf32x4(rows, _mm_loadu_ps(at(1)), 1);
      rows = _mm512_insertf32x4(rows, _mm_loadu_ps(at(2)), 2);
      return _mm512_insertf32x4(rows, _mm_loadu_ps(at(3)), 3);
    } else if constexpr (P == 8) {
      return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(at(0))), _mm256_loadu_ps(at(1)), 1);
    } else {
      return _mm512_loadu_ps(at(0));
    }
  }

  // The sum over the G rows of a register, in every one of them.
  static __m512 across(__m512 v) {
    if constexpr (P <= 8) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4E));
    if constexpr (P <= 4) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xB1));
    return v;
  }

  // The sum over the P entries of each row, in every one of its lanes.
  static __m512 within(__m512 v) {
    v = _mm512_add_ps(v, _mm512_permute_ps(v, 0xB1));
    v = _mm512_add_ps(v, _mm512_permute_ps(v, 0x4E));
    if constexpr (P >= 8) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xB1));
    if constexpr (P >= 16) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4E));
    return v;
  }

  // One weight per row, in every one of its lanes.
  static __m512 spread(const float* weight) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 w = _mm512_maskz_loadu_ps(__mmask16((1u << G) - 1), weight);
    return _mm512_permutexvar_ps(_mm512_srli_epi32(lane, P == 4 ? 2 : P == 8 ? 3 : 4), w);
  }
};

// lambda1 / sqrt(squares) where the row is longer than lambda1, else 1. One Newton step makes the 14 bits
// of the estimate more than float32 holds; the cap keeps an overflowed length from turning into NaN.
inline __m512 shrink(__m512 z, __m512 squares, __m512 radius, __m512 radius_squared) {
  const __mmask16 outside = _mm512_cmp_ps_mask(squares, radius_squared, _CMP_GT_OQ);
  const __m512 capped = _mm512_min_ps(_mm512_set1_ps(3e38f), squares);
  const __m512 guess = _mm512_rsqrt14_ps(capped);
  const __m512 half = _mm512_mul_ps(_mm512_mul_ps(capped, _mm512_set1_ps(0.5f)), _mm512_mul_ps(guess, guess));
  const __m512 root = _mm512_mul_ps(guess, _mm512_sub_ps(_mm512_set1_ps(1.5f), half));
  return _mm512_mask_mul_ps(z, outside, z, _mm512_mul_ps(radius, root));
}

// What a step needs of one node: coefficients of U_i, of the sum of neighbours, and of Q_i.
struct NodeFactors {
  float own, in, back;
};

template <int P>
struct ShortForward {
  using V = Packed<P>;
  const EmpProblem<float>& problem;
  bool weighted;
  std::int32_t* group;   // (n + 1): the first register of each node
  std::int32_t* column;  // (groups, G)
  float* weight;         // (groups, G), 0 for the slots that fill up
  float *u, *ub, *q, *in, *dual;
  NodeFactors* factors;

  // One thread: where each node's registers begin.
  void count_groups() const {
    group[0] = 0;
    for (std::int64_t i = 0; i < problem.num_nodes; ++i)
      group[i + 1] = group[i] + std::int32_t((problem.start[i + 1] - problem.start[i] + V::G - 1) / V::G);
  }

  void prepare(std::int64_t low, std::int64_t high) const {
    const std::int64_t d = problem.width;
    const float gamma = problem.gamma[0], pull = problem.pull[0];
    for (std::int64_t i = low; i < high; ++i) {
      const std::int64_t first = problem.start[i], degree = problem.start[i + 1] - first;
      const std::int64_t at = std::int64_t(group[i]) * V::G, places = std::int64_t(group[i + 1]) * V::G - at;
      float total = 0;
      for (std::int64_t k = 0; k < places; ++k) {
        column[at + k] = k < degree ? problem.column[first + k] : std::int32_t(i);
        if (!weighted) continue;
        weight[at + k] = k < degree ? problem.weight[problem.edge[first + k]] : 0.0f;
        total += weight[at + k];
      }
      if (!weighted) total = float(places);
      const float s = problem.scale[i];
      factors[i] = {1 - gamma - pull * s * s * total, pull * s * s, gamma * s * s};
      for (int c = 0; c < P; ++c) {
        const float value = c < d ? s * problem.x[i * d + c] : 0.0f;
        u[i * P + c] = value, in[i * P + c] = gamma * value, q[i * P + c] = 0;
      }
    }
  }

  template <bool Weighted>
  void smooth(std::int64_t low, std::int64_t high) const {
    for (std::int64_t i = low; i < high; ++i) {
      __m512 sum = _mm512_setzero_ps();
      for (std::int32_t g = group[i]; g < group[i + 1]; ++g) {
        const __m512 rows = V::gather(u, column + std::int64_t(g) * V::G);
        if constexpr (Weighted) sum = _mm512_fmadd_ps(rows, V::spread(weight + std::int64_t(g) * V::G), sum);
        else sum = _mm512_add_ps(sum, rows);
      }
      const NodeFactors f = factors[i];
      __m512 value = V::everywhere(in + i * P);
      value = _mm512_fmadd_ps(_mm512_set1_ps(f.own), V::everywhere(u + i * P), value);
      value = _mm512_fmadd_ps(_mm512_set1_ps(f.in), V::across(sum), value);
      value = _mm512_fnmadd_ps(_mm512_set1_ps(f.back), V::everywhere(q + i * P), value);
      V::store(ub + i * P, value);
    }
  }

  template <bool Weighted>
  void ascend(std::int64_t low, std::int64_t high, bool first) const {
    const __m512 beta = _mm512_set1_ps(problem.beta[0]), radius = _mm512_set1_ps(problem.lambda1[0]);
    const __m512 radius_squared = _mm512_mul_ps(radius, radius);
    for (std::int64_t i = low; i < high; ++i) {
      const __m512 here = V::everywhere(ub + i * P);
      __m512 sum = _mm512_setzero_ps();
      for (std::int32_t g = group[i]; g < group[i + 1]; ++g) {
        float* rows = dual + std::int64_t(g) * 16;
        const __m512 before = first ? _mm512_setzero_ps() : _mm512_load_ps(rows);
        const __m512 difference = _mm512_sub_ps(here, V::gather(ub, column + std::int64_t(g) * V::G));
        __m512 z = _mm512_fmadd_ps(beta, difference, before);
        z = shrink(z, V::within(_mm512_mul_ps(z, z)), radius, radius_squared);
        _mm512_store_ps(rows, z);
        if constexpr (Weighted) sum = _mm512_fmadd_ps(z, V::spread(weight + std::int64_t(g) * V::G), sum);
        else sum = _mm512_add_ps(sum, z);
      }
      const __m512 total = V::across(sum);
      const __m512 change = _mm512_sub_ps(total, V::everywhere(q + i * P));
      V::store(u + i * P, _mm512_fnmadd_ps(_mm512_set1_ps(factors[i].back), change, here));
      V::store(q + i * P, total);
    }
  }

  template <bool Weighted>
  void run(std::int64_t low, std::int64_t high) const {
    for (int step = 0; step < problem.steps; ++step) {
      smooth<Weighted>(low, high);
#pragma omp barrier
      ascend<Weighted>(low, high, step == 0);
#pragma omp barrier
    }
  }

  void finish(std::int64_t low, std::int64_t high, float* out) const {
    const std::int64_t d = problem.width;
    for (std::int64_t i = low; i < high; ++i)
      for (std::int64_t c = 0; c < d; ++c) out[i * d + c] = u[i * P + c] / problem.scale[i];
  }
};

// The first node of part `part` of `parts`: parts have about the same number of slots and nodes.
inline std::int64_t first_node(const EmpProblem<float>& problem, int part, int parts) {
  const std::int64_t n = problem.num_nodes, work = problem.start[n] + n;
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if ((problem.start[middle] + middle) * parts < work * part) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <int P>
std::size_t run_short(const EmpProblem<float>& problem, const EmpForward<float>& job, char* scratch,
                      bool weighted) {
  Arena arena{scratch};
  constexpr int G = Packed<P>::G;
  const std::int64_t n = problem.num_nodes, nodes = n * P;
  const std::int64_t groups = std::min(2 * problem.num_edges, 2 * problem.num_edges / G + n);  // at most
  auto* group = arena.take<std::int32_t>(n + 1);
  auto* column = arena.take<std::int32_t>(groups * G);
  auto* weight = arena.take<float>(weighted ? groups * G : 0);
  float *u = arena.take<float>(nodes), *ub = arena.take<float>(nodes), *q = arena.take<float>(nodes);
  float *in = arena.take<float>(nodes), *dual = arena.take<float>(groups * 16);
  const ShortForward<P> loop{problem, weighted, group, column, weight, u, ub, q, in, dual,
                             arena.take<NodeFactors>(n)};
  if (scratch == nullptr) return arena.used;
  loop.count_groups();
#pragma omp parallel num_threads(problem.threads)
  {
    const int part = omp_get_thread_num(), parts = omp_get_num_threads();
    const std::int64_t low = first_node(problem, part, parts), high = first_node(problem, part + 1, parts);
    loop.prepare(low, high);
#pragma omp barrier
    if (weighted) loop.template run<true>(low, high);
    else loop.template run<false>(low, high);
    loop.finish(low, high, job.out);
  }
  return arena.used;
}

inline bool is_short(const EmpProblem<float>& problem, const EmpForward<float>& job) {
  const bool countable = problem.num_edges < (1 << 29) && problem.num_nodes < (1 << 29);  // int32 registers
  return countable && problem.norm == EdgeNorm::l21 && problem.runs == 1 && problem.width <= 16 &&
         job.use_dual && job.keep == 0 && !job.first_signal && !job.first_dual && !job.last_dual;
}

inline std::size_t forward_short(const EmpProblem<float>& problem, const EmpForward<float>& job,
                                 char* scratch, bool weighted) {
  if (problem.width <= 4) return run_short<4>(problem, job, scratch, weighted);
  if (problem.width <= 8) return run_short<8>(problem, job, scratch, weighted);
  return run_short<16>(problem, job, scratch, weighted);
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE

#endif
