// The gradient of x through the packed steps (emp_packed_forward.isa.cpp).
#include "emp_packed.h"

#include "packed_sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

#if defined(__AVX512F__) && defined(__AVX512DQ__)

namespace {

// With g the gradient of U after a step, t that of Z, G = s^2 (g + gradient of the next Ub):
//   t <- J (t - gamma w (G_i - G_j)),  bar_i = beta sum t,  v = g + bar,  grad X += gamma s v,  S = s^2 v,
//   g <- (1 - gamma) v + pull (sum w S_j - c S_i),  G <- s^2 (bar + g)
template <int P>
struct BackwardRows {
  float *g, *pulled, *share, *bar, *sum, *t, *weight, *total, *scale;

  BackwardRows(const PackedGraph& graph, bool has_dual, Arena& arena)
      : g(arena.take<float>(graph.num_nodes * P)), pulled(arena.take<float>(graph.num_nodes * P)),
        share(arena.take<float>(graph.num_nodes * P)), bar(arena.take<float>(graph.num_nodes * P)),
        sum(arena.take<float>(graph.num_nodes * P)), t(arena.take<float>(has_dual ? graph.num_groups * 16 : 0)),
        weight(graph.weight ? arena.take<float>(graph.num_groups * Packed<P>::G) : nullptr),
        total(arena.take<float>(graph.num_nodes)), scale(arena.take<float>(graph.num_nodes)) {}
};

// t <- J t for the rows that `mask` names
template <int P>
ELASTICGNN_INLINE const float* turn_rows(unsigned mask, float* t, std::int64_t width, float inverse, const float* from) {
  using R = Row<P>;
  const unsigned lanes = (1u << width) - 1;
  for (; mask; mask &= mask - 1, from += width + 1) {
    const int bit = __builtin_ctz(mask);
    float* row = t + (bit & 3) * 16 + (bit >> 2) * 4;
    const typename R::Vec h = R::load(row), u = R::load(from, lanes) * inverse;
    R::store(row, (h - u * R::sum(u * h)) * from[width]);
  }
  return from;
}

template <int P, bool Weighted, bool Fresh>
ELASTICGNN_INLINE const float* descend_quad(float gamma, float inverse, std::int64_t g, int count, unsigned mask,
                                            const std::int32_t* __restrict owner, const std::int32_t* __restrict column,
                                            const float* __restrict weight, const float* __restrict pulled,
                                            float* __restrict t, std::int64_t width, const float* from) {
  using V = Packed<P>;
#pragma GCC unroll 4
  for (int r = 0; r < count; ++r) {
    const std::int64_t at = g + r;
    const __m512 difference =
        _mm512_sub_ps(V::everywhere(pulled + std::int64_t(owner[at]) * P), V::gather(pulled, column + at * V::G));
    __m512 factor = _mm512_set1_ps(gamma);
    if constexpr (Weighted) factor = _mm512_mul_ps(factor, V::spread(weight + at * V::G));
    const __m512 before = Fresh ? _mm512_setzero_ps() : _mm512_load_ps(t + at * 16);
    _mm512_store_ps(t + at * 16, _mm512_fnmadd_ps(factor, difference, before));
  }
  return mask ? turn_rows<P>(mask, t + g * 16, width, inverse, from) : from;
}

// v, S and grad X of node i, given bar.
template <int P>
ELASTICGNN_INLINE void pass(const PackedProblem& problem, const BackwardRows<P>& rows, std::int64_t i, __m512 bar) {
  using V = Packed<P>;
  const float s = rows.scale[i];
  const __m512 value = _mm512_add_ps(V::everywhere(rows.g + i * P), bar);
  V::store(rows.bar + i * P, bar);
  V::store(rows.g + i * P, value);
  V::store(rows.share + i * P, _mm512_mul_ps(_mm512_set1_ps(s * s), value));
  V::store(rows.sum + i * P, _mm512_fmadd_ps(_mm512_set1_ps(problem.gamma * s), value, V::everywhere(rows.sum + i * P)));
}

template <int P, bool Weighted, bool Fresh>
void descend(const PackedProblem& problem, const BackwardRows<P>& rows, std::int64_t chunk, const std::uint16_t* masks,
             const float* from) {
  const PackedGraph& graph = problem.graph;
  const std::int32_t *__restrict group = graph.group, *__restrict column = graph.column, *__restrict owner = graph.owner;
  const float *__restrict pulled = rows.pulled, *weight = rows.weight;
  float* __restrict t = rows.t;
  const float gamma = problem.gamma, inverse = 1 / problem.lambda1;
  const std::int64_t width = problem.width, low = graph.chunk[chunk], high = graph.chunk[chunk + 1], last = group[high];
  std::int64_t k = group[low];
  for (; k + 4 <= last; k += 4)
    from = descend_quad<P, Weighted, Fresh>(gamma, inverse, k, 4, *masks++, owner, column, weight, pulled, t, width, from);
  if (k < last)
    descend_quad<P, Weighted, Fresh>(gamma, inverse, k, int(last - k), *masks, owner, column, weight, pulled, t, width, from);
  for (std::int64_t i = low; i < high; ++i) {
    const __m512 total = node_sum<P, false, true>(group[i], group[i + 1], nullptr, [=](std::int64_t at) {
      return _mm512_load_ps(t + at * 16);
    });
    pass<P>(problem, rows, i, _mm512_mul_ps(_mm512_set1_ps(problem.beta), total));
  }
}

template <int P, bool Weighted>
void spread(const PackedProblem& problem, const BackwardRows<P>& rows, std::int32_t low, std::int32_t high) {
  using V = Packed<P>;
  const PackedGraph& graph = problem.graph;
  const std::int32_t *__restrict group = graph.group, *__restrict column = graph.column;
  const float *__restrict share = rows.share, *__restrict bar = rows.bar, *weight = rows.weight;
  float *__restrict g = rows.g, *__restrict pulled = rows.pulled;
  const __m512 stay = _mm512_set1_ps(1 - problem.gamma), pull = _mm512_set1_ps(problem.pull);
  for (std::int64_t i = low; i < high; ++i) {
    const __m512 total = node_sum<P, Weighted, false>(group[i], group[i + 1], weight, [=](std::int64_t k) {
      return V::gather(share, column + k * V::G);
    });
    const float s = rows.scale[i];
    const __m512 change = _mm512_fnmadd_ps(_mm512_set1_ps(rows.total[i]), V::everywhere(share + i * P), total);
    const __m512 value = _mm512_fmadd_ps(stay, V::everywhere(g + i * P), _mm512_mul_ps(pull, change));
    V::store(g + i * P, value);
    V::store(pulled + i * P, _mm512_mul_ps(_mm512_set1_ps(s * s), _mm512_add_ps(V::everywhere(bar + i * P), value)));
  }
}

template <int P>
void start_back(const PackedProblem& problem, const float* grad, const BackwardRows<P>& rows, const Team& team) {
  const PackedGraph& g = problem.graph;
  spread_weights<P>(g, team.low_node, team.high_node, rows.weight);
  for (std::int32_t i = team.low_node; i < team.high_node; ++i) {
    rows.scale[i] = g.scale[g.order[i]];
    rows.total[i] = total_weight<P>(g, i, rows.weight);
    Row<P>::store(rows.sum + std::int64_t(i) * P, typename Row<P>::Vec{});
  }
  const std::int32_t low = team.low_node, high = team.high_node;
  pad_rows<P>(problem, low, high, grad, rows.g, [&](std::int64_t i) { return 1 / rows.scale[i]; });
  pad_rows<P>(problem, low, high, grad, rows.pulled, [&](std::int64_t i) { return rows.scale[i]; });
}

template <int P>
void backward_rows(const PackedProblem& problem, const float* grad, float* grad_x, const PackedKept& kept,
                   const BackwardRows<P>& rows) {
  using Sweep = void (*)(const PackedProblem&, const BackwardRows<P>&, std::int64_t, const std::uint16_t*, const float*);
  static constexpr Sweep kinds[] = {descend<P, false, false>, descend<P, false, true>, descend<P, true, false>,
                                    descend<P, true, true>};
  const PackedGraph& g = problem.graph;
  const bool weighted = g.weight != nullptr;
  const std::int64_t quads = quad_of(g, g.num_chunks);
#pragma omp parallel num_threads(problem.threads < kMostThreads ? problem.threads : kMostThreads)
  {
    const Team team(g);
    start_back<P>(problem, grad, rows, team);
#pragma omp barrier
    for (int step = problem.steps - 1; step >= 0; --step) {
      const Sweep sweep = kinds[weighted * 2 + (step + 1 == problem.steps)];
      for (std::int64_t i = team.low_node; i < team.high_node && !problem.has_dual(); ++i)
        pass<P>(problem, rows, i, _mm512_setzero_ps());
      for (std::int64_t c = team.low; c < team.high && problem.has_dual(); ++c)
        sweep(problem, rows, c, kept.masks + step * quads + quad_of(g, c), kept.rows[step * g.num_chunks + c]);
#pragma omp barrier
      if (weighted) spread<P, true>(problem, rows, team.low_node, team.high_node);
      else spread<P, false>(problem, rows, team.low_node, team.high_node);
#pragma omp barrier
    }
    hand_back(problem, team.low_node, team.high_node, grad_x, [&](std::int64_t i, std::int64_t c) {
      return rows.sum[i * P + c] + rows.scale[i] * rows.g[i * P + c];
    });
  }
}

}  // namespace

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
std::size_t packed_backward(const PackedProblem& problem, const float* grad, float* grad_x, const PackedKept& kept, char* scratch) {
  return with_lanes(problem.width, [&](auto packed) -> std::size_t {
    Arena arena{scratch};
    const BackwardRows<16 / decltype(packed)::G> rows(problem.graph, problem.has_dual(), arena);
    if (scratch) backward_rows(problem, grad, grad_x, kept, rows);
    return arena.used;
  });
}

#else

std::size_t packed_backward(const PackedProblem&, const float*, float*, const PackedKept&, char*) { return 0; }

#endif

}  // namespace elasticgnn::ISA_NAMESPACE
