// Elastic message passing forward, for rows of at most 16 floats and the l21 or l1 norm.
// Needs AVX-512: without it packed_lanes() is 0 and nothing here is called.
#include <initializer_list>

#include "emp/packed/problem.h"
#include "emp/packed/pieces.h"
#include "emp/packed/sweep.h"
#include "threads/steps.h"

namespace elasticgnn::ISA_NAMESPACE {

#if defined(__AVX512F__) && defined(__AVX512DQ__)

namespace {

template <int P>
struct ForwardRows {
  float *u, *ub, *q, *in, *dual, *weight, *scale;
  float *own, *smoothing, *back;  // what a step needs of each node

  ForwardRows(const PackedProblem& problem, Arena& arena) {
    const PackedGraph& g = problem.graph;
    for (float** rows : {&u, &ub, &q, &in}) *rows = arena.take<float>(g.num_nodes * kRow<P>);
    for (float** numbers : {&scale, &own, &smoothing, &back})
      *numbers = arena.take<float>(g.num_nodes);
    dual = arena.take<float>(problem.has_dual() ? g.num_groups * 16 : 0);
    weight = g.weight ? arena.take<float>(g.num_groups * Packed<P>::G) : nullptr;
  }
};

template <int P>
void prepare(const PackedProblem& problem, const float* x, const ForwardRows<P>& rows,
             const Team& team) {
  const PackedGraph& g = problem.graph;
  const float gamma = problem.gamma, smoothing = problem.smoothing;
  spread_weights<P>(g, team.low_node, team.high_node, rows.weight);
  for (std::int64_t c = team.low; c < team.high; ++c)
    for_totals<P>(g, c, rows.weight, [&](std::int64_t i, float total) {
      const float s = rows.scale[i] = g.scale[g.order[i]], square = s * s;
      rows.own[i] = 1 - gamma - smoothing * square * total;
      rows.smoothing[i] = smoothing * square, rows.back[i] = gamma * square;
      Pack<float, kRow<P>>::store(rows.q + i * kRow<P>, typename Pack<float, kRow<P>>::Vec{});
    });
  pad_rows<P>(problem, team.low_node, team.high_node, x, rows.u,
              [&](std::int64_t i) { return rows.scale[i]; });
  pad_rows<P>(problem, team.low_node, team.high_node, x, rows.in,
              [&](std::int64_t i) { return gamma * rows.scale[i]; });
}

// A: Ub of the nodes of a chunk
template <int P, int Share, bool Weighted>
void smooth(const PackedGraph& graph, const ForwardRows<P>& rows, std::int64_t chunk) {
  using N = Nodes<P, Share>;
  const std::int32_t* __restrict group = graph.group, * __restrict column = graph.column;
  const float* __restrict u = rows.u, * __restrict q = rows.q, * __restrict in = rows.in,
                          *weight = rows.weight;
  const float* __restrict own = rows.own, * __restrict smoothing = rows.smoothing, * __restrict back = rows.back;
  float* __restrict ub = rows.ub;
  const std::int64_t high = graph.chunk[chunk + 1];
  for (std::int64_t i = graph.chunk[chunk]; i < high; i += Share) {
    const __m512 sum =
        N::sum(sum_registers<false>(group[i], end_of<Share>(group, i), [=](std::int64_t g) {
          return neighbours<P, Weighted>(u, column, weight, g);
        }));
    __m512 value =
        _mm512_fmadd_ps(N::spread(own + i), N::load(u + i * kRow<P>), N::load(in + i * kRow<P>));
    value = _mm512_fmadd_ps(N::spread(smoothing + i), sum, value);
    value = _mm512_fnmadd_ps(N::spread(back + i), N::load(q + i * kRow<P>), value);
    N::store(ub + i * kRow<P>, value);
  }
}

constexpr unsigned kFirst = 0x1111;  // register 0 in every four lanes

struct Ball {
  __m512 beta, radius, squared;
  explicit Ball(const PackedProblem& problem)
      : beta(_mm512_set1_ps(problem.beta)),
        radius(_mm512_set1_ps(problem.lambda1)),
        squared(_mm512_mul_ps(radius, radius)) {}
};

// min(1, lambda1 / |row|) for rows with these squared lengths. An estimate to 14 bits and one step
// of Newton are more than float32 holds; the bounds keep lengths of 0 and overflowed ones finite,
// not NaN.
ELASTICGNN_INLINE __m512 shrink_factor(const Ball& ball, __m512 squares) {
  const __m512 s =
      _mm512_min_ps(_mm512_set1_ps(3e38f), _mm512_max_ps(_mm512_set1_ps(1e-36f), squares));
  const __m512 guess = _mm512_rsqrt14_ps(s);
  const __m512 rest = _mm512_fnmadd_ps(_mm512_mul_ps(s, guess), guess, _mm512_set1_ps(3));
  const __m512 root = _mm512_mul_ps(_mm512_mul_ps(guess, _mm512_set1_ps(0.5f)), rest);
  return _mm512_min_ps(_mm512_set1_ps(1), _mm512_mul_ps(ball.radius, root));
}

// Appends Z of the rows that `mask` names, register by register, then their r.
template <int P>
ELASTICGNN_INLINE float* keep_rows(unsigned mask, const __m512* z, __m512 factor,
                                   std::int64_t width, float* to) {
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const __mmask16 lanes = Packed<P>::lanes_of(mask, r, width);
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(lanes, z[r]));
    to += __builtin_popcount(lanes);
  }
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps(__mmask16(mask), factor));
  return to + __builtin_popcount(mask);
}

// Four registers of the dual before the projection, and the squared lengths of their rows.
struct Ascended {
  __m512 z[4], sums;
};

// B1 up to the projection, for `count` (1 .. 4) registers from g on.
template <int P, int Share, bool Box>
ELASTICGNN_INLINE Ascended climb(__m512 beta, std::int64_t g, int count, bool first,
                                 const std::int32_t* __restrict owner,
                                 const std::int32_t* __restrict column, const float* __restrict ub,
                                 const float* __restrict dual) {
  using V = Packed<P>;
  Ascended up;
  __m512 squares[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const std::int64_t at = g + (r < count ? r : 0);
    const __m512 step =
        _mm512_sub_ps(Nodes<P, Share>::load(ub + owner[at]), V::gather(ub, column + at * V::G));
    up.z[r] =
        _mm512_fmadd_ps(beta, step, first ? _mm512_setzero_ps() : _mm512_load_ps(dual + at * 16));
    squares[r] = _mm512_mul_ps(up.z[r], up.z[r]);
    fetch_ahead(dual, at);
  }
  up.sums = Box ? _mm512_setzero_ps() : V::row_sums(squares);
  return up;
}

// The projection onto the box; `masks` (or null) get the numbers that left it.
template <int P>
ELASTICGNN_INLINE void clamp(const Ball& ball, Ascended& up, std::int64_t g, int count,
                             float* __restrict dual, std::uint16_t* masks) {
  const __m512 low = _mm512_sub_ps(_mm512_setzero_ps(), ball.radius);
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    if (r >= count) break;
    // the number is the second operand, which is what min and max give for NaN
    const __m512 z = _mm512_min_ps(ball.radius, _mm512_max_ps(low, up.z[r]));
    if (masks) masks[r] = _mm512_cmp_ps_mask(_mm512_abs_ps(up.z[r]), ball.radius, _CMP_GT_OQ);
    _mm512_store_ps(dual + (g + r) * 16, z);
  }
}

// The projection onto the ball. If `keep`, what left the ball goes to `to`, and is named in the
// result.
template <int P>
ELASTICGNN_INLINE unsigned project(const Ball& ball, Ascended& up, std::int64_t g, int count,
                                   bool keep, float* __restrict dual, std::int64_t width,
                                   float*& to) {
  using V = Packed<P>;
  const __m512 factor = shrink_factor(ball, up.sums);
  const __m512 factors[4] = {V::template one_of<0>(factor), V::template one_of<1>(factor),
                             V::template one_of<2>(factor), V::template one_of<3>(factor)};
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    up.z[r] = _mm512_mul_ps(up.z[r], factors[r]);
    if (r < count) _mm512_store_ps(dual + (g + r) * 16, up.z[r]);
  }
  if (!keep) return 0;
  const unsigned mask = _mm512_cmp_ps_mask(up.sums, ball.squared, _CMP_GT_OQ) & V::kPlaces &
                        (kFirst * ((1u << count) - 1));
  if (mask) to = keep_rows<P>(mask, up.z, factor, width, to);
  return mask;
}

// B1 for the slots of a chunk. The next four registers climb before the last four are projected: a
// projection waits for long chains of arithmetic, and the CPU does not look far enough ahead by
// itself.
template <int P, int Share, bool Box>
void ascend(const PackedProblem& problem, const ForwardRows<P>& rows, std::int64_t chunk,
            bool first, std::uint16_t* masks, float*& to) {
  const PackedGraph& graph = problem.graph;
  const Ball ball(problem);
  const std::int32_t *owner = graph.owner, *column = graph.column;
  const float* ub = rows.ub;
  float* dual = rows.dual;
  const std::int64_t width = problem.width, last = graph.group[graph.chunk[chunk + 1]];
  const bool keep = masks != nullptr;
  float* end = to;
  const bool far = is_far<P>(graph);
  const std::int64_t num_groups = graph.num_groups;
  const auto start = [&](std::int64_t g, int count) ELASTICGNN_INLINE_LAMBDA {
    if (far) fetch_neighbours<P>(ub, column, g, num_groups);
    return climb<P, Share, Box>(ball.beta, g, count, first, owner, column, ub, dual);
  };
  const auto finish = [&](Ascended& up, std::int64_t g, int count) ELASTICGNN_INLINE_LAMBDA {
    if constexpr (Box) {
      clamp<P>(ball, up, g, count, dual, masks);
      masks += keep ? 4 : 0;
    } else {
      const unsigned mask = project<P>(ball, up, g, count, keep, dual, width, end);
      if (keep) *masks++ = std::uint16_t(mask);
    }
  };
  std::int64_t g = graph.group[graph.chunk[chunk]];
  if (g + 4 <= last) {
    Ascended now = start(g, 4);
    for (; g + 8 <= last; g += 4) {
      const Ascended next = start(g + 4, 4);
      finish(now, g, 4);
      now = next;
    }
    finish(now, g, 4);
    g += 4;
  }
  if (g < last) {
    Ascended rest = start(g, int(last - g));
    finish(rest, g, int(last - g));
  }
  to = end;
}

// B2: Q and U of the nodes of a chunk.
template <int P, int Share, bool Weighted>
void collect(const PackedProblem& problem, const ForwardRows<P>& rows, std::int64_t chunk) {
  using N = Nodes<P, Share>;
  const PackedGraph& graph = problem.graph;
  const std::int32_t* __restrict group = graph.group;
  const float* __restrict ub = rows.ub, * __restrict back = rows.back, * __restrict dual = rows.dual,
                          *weight = rows.weight;
  float* __restrict u = rows.u, * __restrict q = rows.q;
  const std::int64_t high = graph.chunk[chunk + 1];
  for (std::int64_t i = graph.chunk[chunk]; i < high; i += Share) {
    const __m512 total =
        N::sum(sum_registers<true>(group[i], end_of<Share>(group, i), [=](std::int64_t g) {
          const __m512 rows = _mm512_load_ps(dual + g * 16);
          return Weighted ? _mm512_mul_ps(rows, Packed<P>::spread(weight + g * Packed<P>::G))
                          : rows;
        }));
    const __m512 change = _mm512_sub_ps(total, N::load(q + i * kRow<P>));
    N::store(u + i * kRow<P>,
             _mm512_fnmadd_ps(N::spread(back + i), change, N::load(ub + i * kRow<P>)));
    N::store(q + i * kRow<P>, total);
  }
}

template <int P, bool Weighted, bool Box>
bool forward_rows(const PackedProblem& problem, const float* x, float* out, const PackedKept* kept,
                  ForwardRows<P> rows) {
  const PackedGraph& g = problem.graph;
  const std::int64_t each = masks_each(problem), quads = quad_of(g, g.num_chunks);
  bool enough = true;
#pragma omp parallel firstprivate(rows) num_threads(problem.team())
  {
    const Team team(g);
    Piece piece;
    if (kept) piece.plan(problem, P, team.low, team.high);
    Steps steps{problem.interrupt};
    prepare<P>(problem, x, rows, team);
#pragma omp barrier
    for (int step = 0; step < problem.steps && enough && steps.next(); ++step) {
      for (std::int64_t c = team.low; c < team.high; ++c)
        with_share<P>(g.share[c], [&](auto n) { smooth<P, share_of(n), Weighted>(g, rows, c); });
      if (!problem.has_dual()) {  // Ub is the next U
        float* const last = rows.u;
        rows.u = rows.ub, rows.ub = last;
#pragma omp barrier
        continue;
      }
#pragma omp barrier
      for (std::int64_t c = team.low; c < team.high; ++c) {
        if (kept && !Box && !piece.reserve(problem, P, c, *kept)) {
#pragma omp atomic write
          enough = false;
          break;
        }
        if (kept) kept->rows[step * g.num_chunks + c] = piece.at;
        std::uint16_t* const masks =
            kept ? kept->masks + (step * quads + quad_of(g, c)) * each : nullptr;
        with_share<P>(g.share[c], [&](auto n) {
          ascend<P, share_of(n), Box>(problem, rows, c, step == 0, masks, piece.at);
          collect<P, share_of(n), Weighted>(problem, rows, c);
        });
      }
#pragma omp barrier
    }
    hand_back(problem, team.low_node, team.high_node, out, [&](std::int64_t i, std::int64_t c) {
      return rows.u[i * kRow<P> + c] / rows.scale[i];
    });
  }
  return enough;
}

}  // namespace

int packed_lanes(std::int64_t width) {
  if (width > 16) return 0;
  return int(
      with_lanes(width, [](auto packed) -> std::size_t { return decltype(packed)::kLanes; }));
}

// Bytes of scratch that the call needs when `scratch` is null; else runs it, and gives 0 if memory
// ran out.
std::size_t packed_forward(const PackedProblem& problem, const float* x, float* out,
                           const PackedKept* kept, char* scratch) {
  return with_lanes(problem.width, [&](auto packed) -> std::size_t {
    constexpr int P = decltype(packed)::kLanes;
    Arena arena{scratch};
    const ForwardRows<P> rows(problem, arena);
    bool enough = true;
    if (scratch)
      with_traits(problem, [&](auto weighted, auto box) {
        enough = forward_rows<P, weighted, box>(problem, x, out, kept, rows);
      });
    return enough ? arena.used : 0;
  });
}

#else

int packed_lanes(std::int64_t) { return 0; }
std::size_t packed_forward(const PackedProblem&, const float*, float*, const PackedKept*, char*) {
  return 0;
}

#endif

}  // namespace elasticgnn::ISA_NAMESPACE
