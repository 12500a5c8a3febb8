// The gradient of x through the packed steps (emp/packed/forward.isa.cpp).
#include <initializer_list>

#include "emp/packed/problem.h"
#include "emp/packed/sweep.h"
#include "threads/steps.h"

namespace elasticgnn::ISA_NAMESPACE {

#if defined(__AVX512F__) && defined(__AVX512DQ__)

namespace {

// With g the gradient of U after a step, t that of Z, G = s^2 (g + gradient of the next Ub):
//   t <- J (t - gamma w (G_i - G_j)),  bar_i = beta sum t,  v = g + bar,  grad X += gamma s v,  S =
//   s^2 v, g <- (1 - gamma) v + smoothing (sum w S_j - c S_i),  G <- s^2 (bar + g)
template <int P>
struct BackwardRows {
  float *g, *scaled_grad, *share, *bar, *sum, *t, *weight;
  float *total, *scale, *square;  // of each node

  BackwardRows(const PackedProblem& problem, Arena& arena) {
    const PackedGraph& graph = problem.graph;
    for (float** rows : {&g, &scaled_grad, &share, &bar, &sum})
      *rows = arena.take<float>(graph.num_nodes * kRow<P>);
    for (float** numbers : {&total, &scale, &square}) *numbers = arena.take<float>(graph.num_nodes);
    t = arena.take<float>(problem.has_dual() ? graph.num_groups * 16 : 0);
    weight = graph.weight ? arena.take<float>(graph.num_groups * Packed<P>::G) : nullptr;
  }
};

// t <- J t for the rows that `mask` names; behind `from` lie their Z and r, as append_rows wrote
// them.
template <int P>
ELASTICGNN_INLINE const float* turn_rows(unsigned mask, __m512* t, std::int64_t width,
                                         __m512 inverse, const float* from) {
  using V = Packed<P>;
  __m512 u[4], products[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const __mmask16 lanes = V::lanes_of(mask, r, width);
    u[r] = _mm512_mul_ps(_mm512_maskz_expand_ps(lanes, _mm512_loadu_ps(from)), inverse);
    products[r] = _mm512_mul_ps(u[r], t[r]);
    from += __builtin_popcount(lanes);
  }
  const __m512 sums = V::row_sums(products);
  const __m512 shrink = V::from_places(
      _mm512_mask_expand_ps(_mm512_set1_ps(1), __mmask16(mask), _mm512_loadu_ps(from)));
  t[0] = _mm512_mul_ps(_mm512_fnmadd_ps(u[0], V::template one_of<0>(sums), t[0]),
                       V::template one_of<0>(shrink));
  t[1] = _mm512_mul_ps(_mm512_fnmadd_ps(u[1], V::template one_of<1>(sums), t[1]),
                       V::template one_of<1>(shrink));
  t[2] = _mm512_mul_ps(_mm512_fnmadd_ps(u[2], V::template one_of<2>(sums), t[2]),
                       V::template one_of<2>(shrink));
  t[3] = _mm512_mul_ps(_mm512_fnmadd_ps(u[3], V::template one_of<3>(sums), t[3]),
                       V::template one_of<3>(shrink));
  return from + __builtin_popcount(mask);
}

template <int P, int Share, bool Weighted, bool Box>
ELASTICGNN_INLINE const float* descend_quad(
    float gamma, __m512 inverse, std::int64_t g, int count, bool fresh, const std::uint16_t* masks,
    const std::int32_t* __restrict owner, const std::int32_t* __restrict column,
    const float* __restrict weight, const float* __restrict scaled_grad, float* __restrict t,
    std::int64_t width, const float* from) {
  using V = Packed<P>;
  __m512 value[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const std::int64_t at = g + (r < count ? r : 0);
    const __m512 difference = _mm512_sub_ps(Nodes<P, Share>::load(scaled_grad + owner[at]),
                                            V::gather(scaled_grad, column + at * V::G));
    __m512 factor = _mm512_set1_ps(gamma);
    if constexpr (Weighted) factor = _mm512_mul_ps(factor, V::spread(weight + at * V::G));
    value[r] = _mm512_fnmadd_ps(factor, difference,
                                fresh ? _mm512_setzero_ps() : _mm512_load_ps(t + at * 16));
    prefetch_register(t, at);
  }
  if constexpr (!Box)
    if (masks[0]) from = turn_rows<P>(masks[0], value, width, inverse, from);
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r)
    if (r < count) {
      if constexpr (Box) value[r] = _mm512_maskz_mov_ps(__mmask16(~masks[r]), value[r]);
      _mm512_store_ps(t + (g + r) * 16, value[r]);
    }
  return from;
}

// v, S and grad X of the nodes from i on, given bar.
template <int P, int Share>
ELASTICGNN_INLINE void pass(float gamma, const BackwardRows<P>& rows, std::int64_t i, __m512 bar) {
  using N = Nodes<P, Share>;
  const __m512 value = _mm512_add_ps(N::load(rows.g + i * kRow<P>), bar);
  N::store(rows.bar + i * kRow<P>, bar);
  N::store(rows.g + i * kRow<P>, value);
  N::store(rows.share + i * kRow<P>, _mm512_mul_ps(N::spread(rows.square + i), value));
  const __m512 part = _mm512_mul_ps(_mm512_set1_ps(gamma), N::spread(rows.scale + i));
  N::store(rows.sum + i * kRow<P>, _mm512_fmadd_ps(part, value, N::load(rows.sum + i * kRow<P>)));
}

// t of the slots of a chunk, then what its nodes make of it.
template <int P, int Share, bool Weighted, bool Box>
void descend(const PackedProblem& problem, const BackwardRows<P>& rows, std::int64_t chunk,
             bool fresh, const std::uint16_t* masks, const float* from) {
  const PackedGraph& graph = problem.graph;
  float* __restrict t = rows.t;
  const std::int32_t* __restrict group = graph.group;
  const float gamma = problem.gamma;
  const __m512 inverse = _mm512_set1_ps(1 / problem.lambda1), beta = _mm512_set1_ps(problem.beta);
  const std::int64_t low = graph.chunk[chunk], high = graph.chunk[chunk + 1], last = group[high];
  const std::int32_t *owner = graph.owner, *column = graph.column;
  const float *weight = rows.weight, *scaled_grad = rows.scaled_grad;
  const std::int64_t width = problem.width;
  std::int64_t g = group[low];
  const bool far = is_far<P>(graph);
  const auto quad = [&](int count) ELASTICGNN_INLINE_LAMBDA {
    if (far) prefetch_neighbours<P>(scaled_grad, column, g, graph.num_groups);
    from = descend_quad<P, Share, Weighted, Box>(gamma, inverse, g, count, fresh, masks, owner,
                                                 column, weight, scaled_grad, t, width, from);
    masks += Box ? 4 : 1;
  };
  for (; g + 4 <= last; g += 4) quad(4);
  if (g < last) quad(int(last - g));
  for (std::int64_t i = low; i < high; i += Share) {
    const __m512 sum = sum_registers<true>(group[i], end_of<Share>(group, i), [=](std::int64_t k) {
      return _mm512_load_ps(t + k * 16);
    });
    pass<P, Share>(gamma, rows, i, _mm512_mul_ps(beta, Nodes<P, Share>::sum(sum)));
  }
}

template <int P, int Share, bool Weighted>
void spread(const PackedProblem& problem, const BackwardRows<P>& rows, std::int64_t chunk) {
  using N = Nodes<P, Share>;
  const PackedGraph& graph = problem.graph;
  const std::int32_t* __restrict group = graph.group, * __restrict column = graph.column;
  const float* __restrict share = rows.share, * __restrict bar = rows.bar, *weight = rows.weight;
  const float* __restrict total = rows.total, * __restrict square = rows.square;
  float* __restrict g = rows.g, * __restrict scaled_grad = rows.scaled_grad;
  const __m512 stay = _mm512_set1_ps(1 - problem.gamma),
               smoothing = _mm512_set1_ps(problem.smoothing);
  const std::int64_t high = graph.chunk[chunk + 1];
  for (std::int64_t i = graph.chunk[chunk]; i < high; i += Share) {
    const __m512 sum =
        N::sum(sum_registers<false>(group[i], end_of<Share>(group, i), [=](std::int64_t k) {
          return neighbours<P, Weighted>(share, column, weight, k);
        }));
    const __m512 change = _mm512_fnmadd_ps(N::spread(total + i), N::load(share + i * kRow<P>), sum);
    const __m512 value =
        _mm512_fmadd_ps(stay, N::load(g + i * kRow<P>), _mm512_mul_ps(smoothing, change));
    N::store(g + i * kRow<P>, value);
    N::store(
        scaled_grad + i * kRow<P>,
        _mm512_mul_ps(N::spread(square + i), _mm512_add_ps(N::load(bar + i * kRow<P>), value)));
  }
}

template <int P>
void start_back(const PackedProblem& problem, const float* grad, const BackwardRows<P>& rows,
                const Team& team) {
  const PackedGraph& g = problem.graph;
  const std::int32_t low = team.low_node, high = team.high_node;
  spread_weights<P>(g, low, high, rows.weight);
  for (std::int64_t c = team.low; c < team.high; ++c)
    for_totals<P>(g, c, rows.weight, [&](std::int64_t i, float total) {
      const float s = rows.scale[i] = g.scale[g.order[i]];
      rows.total[i] = total, rows.square[i] = s * s;
      Pack<float, kRow<P>>::store(rows.sum + i * kRow<P>, typename Pack<float, kRow<P>>::Vec{});
    });
  pad_rows<P>(problem, low, high, grad, rows.g, [&](std::int64_t i) { return 1 / rows.scale[i]; });
  pad_rows<P>(problem, low, high, grad, rows.scaled_grad,
              [&](std::int64_t i) { return rows.scale[i]; });
}

template <int P, bool Weighted, bool Box>
void backward_rows(const PackedProblem& problem, const float* grad, float* grad_x,
                   const PackedActiveRows& active, const BackwardRows<P>& rows) {
  const PackedGraph& g = problem.graph;
  const std::int64_t each = masks_each(problem), quads = quad_of(g, g.num_chunks);
#pragma omp parallel num_threads(problem.team())
  {
    const Team team(g);
    Steps steps{problem.interrupt};
    start_back<P>(problem, grad, rows, team);
#pragma omp barrier
    for (int step = problem.steps - 1; step >= 0 && steps.next(); --step) {
      for (std::int64_t i = team.low_node; i < team.high_node && !problem.has_dual(); ++i)
        pass<P, 1>(problem.gamma, rows, i, _mm512_setzero_ps());
      for (std::int64_t c = team.low; c < team.high && problem.has_dual(); ++c)
        with_share<P>(g.share[c], [&](auto n) {
          descend<P, share_of(n), Weighted, Box>(
              problem, rows, c, step + 1 == problem.steps,
              active.masks + (step * quads + quad_of(g, c)) * each,
              Box ? nullptr : active.rows[step * g.num_chunks + c]);
        });
#pragma omp barrier
      for (std::int64_t c = team.low; c < team.high; ++c)
        with_share<P>(g.share[c],
                      [&](auto n) { spread<P, share_of(n), Weighted>(problem, rows, c); });
#pragma omp barrier
    }
    hand_back(problem, team.low_node, team.high_node, grad_x, [&](std::int64_t i, std::int64_t c) {
      return rows.sum[i * kRow<P> + c] + rows.scale[i] * rows.g[i * kRow<P> + c];
    });
  }
}

}  // namespace

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
std::size_t packed_backward(const PackedProblem& problem, const PackedBackward& job,
                            char* scratch) {
  return with_lanes(problem.width, [&](auto packed) -> std::size_t {
    constexpr int P = decltype(packed)::kLanes;
    Arena arena{scratch};
    const BackwardRows<P> rows(problem, arena);
    if (scratch)
      with_traits(problem, [&](auto weighted, auto box) {
        backward_rows<P, weighted, box>(problem, job.grad, job.grad_x, *job.active, rows);
      });
    return arena.used;
  });
}

#else

std::size_t packed_backward(const PackedProblem&, const PackedBackward&, char*) { return 0; }

#endif

}  // namespace elasticgnn::ISA_NAMESPACE
