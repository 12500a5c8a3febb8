// Elastic message passing forward, for rows of at most 16 floats and the Euclidean norm.
// Needs AVX-512: without it packed_lanes() is 0 and nothing here is called.
#include "emp_packed.h"

#include "packed_sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

#if defined(__AVX512F__) && defined(__AVX512DQ__)

namespace {

// What a step needs of one node.
struct NodeFactors {
  float own, in, back;
};

template <int P>
struct ForwardRows {
  float *u, *ub, *q, *in, *dual, *weight;
  float* scale;
  NodeFactors* factors;

  ForwardRows(const PackedGraph& g, bool has_dual, Arena& arena)
      : u(arena.take<float>(g.num_nodes * P)), ub(arena.take<float>(g.num_nodes * P)),
        q(arena.take<float>(g.num_nodes * P)), in(arena.take<float>(g.num_nodes * P)),
        dual(arena.take<float>(has_dual ? g.num_groups * 16 : 0)),
        weight(g.weight ? arena.take<float>(g.num_groups * Packed<P>::G) : nullptr),
        scale(arena.take<float>(g.num_nodes)), factors(arena.take<NodeFactors>(g.num_nodes)) {}
};

template <int P>
void prepare(const PackedProblem& problem, const float* x, const ForwardRows<P>& rows, std::int32_t low,
             std::int32_t high) {
  const PackedGraph& g = problem.graph;
  const float gamma = problem.gamma, pull = problem.pull;
  spread_weights<P>(g, low, high, rows.weight);
  for (std::int32_t i = low; i < high; ++i) {
    const float s = rows.scale[i] = g.scale[g.order[i]], square = s * s;
    const float total = total_weight<P>(g, i, rows.weight);
    rows.factors[i] = {1 - gamma - pull * square * total, pull * square, gamma * square};
    Row<P>::store(rows.q + std::int64_t(i) * P, typename Row<P>::Vec{});
  }
  pad_rows<P>(problem, low, high, x, rows.u, [&](std::int64_t i) { return rows.scale[i]; });
  pad_rows<P>(problem, low, high, x, rows.in, [&](std::int64_t i) { return gamma * rows.scale[i]; });
}

// A: Ub of nodes low .. high - 1
template <int P, bool Weighted>
void smooth(const PackedGraph& graph, const ForwardRows<P>& rows, std::int32_t low, std::int32_t high) {
  using V = Packed<P>;
  const std::int32_t *__restrict group = graph.group, *__restrict column = graph.column;
  const float *__restrict u = rows.u, *__restrict q = rows.q, *__restrict in = rows.in, *weight = rows.weight;
  const NodeFactors* __restrict factors = rows.factors;
  float* __restrict ub = rows.ub;
  for (std::int64_t i = low; i < high; ++i) {
    const __m512 sum = node_sum<P, Weighted, false>(group[i], group[i + 1], weight, [=](std::int64_t g) {
      return V::gather(u, column + g * V::G);
    });
    const NodeFactors f = factors[i];
    __m512 value = _mm512_fmadd_ps(_mm512_set1_ps(f.own), V::everywhere(u + i * P), V::everywhere(in + i * P));
    value = _mm512_fmadd_ps(_mm512_set1_ps(f.in), sum, value);
    value = _mm512_fnmadd_ps(_mm512_set1_ps(f.back), V::everywhere(q + i * P), value);
    V::store(ub + i * P, value);
  }
}

constexpr unsigned kFirst = 0x1111;  // register 0 in every four lanes

struct Ball {
  __m512 beta, radius, squared;
  __mmask16 free_lanes;  // the first lane behind each row
};

// min(1, lambda1 / |row|) for rows with these squared lengths. An estimate to 14 bits and one step of
// Newton are more than float32 holds; the bounds keep lengths of 0 and overflowed ones finite, not NaN.
ELASTICGNN_INLINE __m512 shrink_factor(const Ball& ball, __m512 squares) {
  const __m512 s = _mm512_min_ps(_mm512_set1_ps(3e38f), _mm512_max_ps(_mm512_set1_ps(1e-36f), squares));
  const __m512 guess = _mm512_rsqrt14_ps(s);
  const __m512 rest = _mm512_fnmadd_ps(_mm512_mul_ps(s, guess), guess, _mm512_set1_ps(3));
  const __m512 root = _mm512_mul_ps(_mm512_mul_ps(guess, _mm512_set1_ps(0.5f)), rest);
  return _mm512_min_ps(_mm512_set1_ps(1), _mm512_mul_ps(ball.radius, root));
}

// Appends Z and r of the rows that `mask` names, those of register r from bit r on. Every row is written and the
// next one goes over those that are not named: the CPU could not foresee a branch.
template <int P, int Which = 0>
ELASTICGNN_INLINE float* keep_rows(unsigned mask, const __m512* z, std::int64_t width, float* to) {
  if constexpr (Which < 16 / P) {
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      Row<P>::store(to, Packed<P>::template row<Which>(z[r]));
      to += (mask >> (Which * P + r) & 1) * (width + 1);
    }
    return keep_rows<P, Which + 1>(mask, z, width, to);
  }
  return to;
}

// The same for rows without a free lane for r.
template <int P>
ELASTICGNN_INLINE float* keep_full_rows(unsigned mask, const __m512* z, __m512 factor, float* to) {
  alignas(64) float rows[64], factors[16];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) _mm512_store_ps(rows + r * 16, z[r]);
  _mm512_store_ps(factors, factor);
  for (int lane = 0; lane < 16; lane += P)
    for (int r = 0; r < 4; ++r) {
      if (!(mask >> (lane + r) & 1)) continue;
      Row<P>::store(to, Row<P>::load(rows + r * 16 + lane));
      to[P] = factors[lane + r];
      to += P + 1;
    }
  return to;
}

// B1 for `count` (1 .. 4) registers from g on; returns which rows left the ball.
template <int P, bool First, bool Keep>
ELASTICGNN_INLINE unsigned ascend_quad(const Ball& ball, std::int64_t g, int count, const std::int32_t* __restrict owner,
                                       const std::int32_t* __restrict column, const float* __restrict ub,
                                       float* __restrict dual, std::int64_t width, float*& to) {
  using V = Packed<P>;
  __m512 z[4], squares[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const std::int64_t at = g + (r < count ? r : 0);
    const __m512 step = _mm512_sub_ps(V::everywhere(ub + std::int64_t(owner[at]) * P), V::gather(ub, column + at * V::G));
    if constexpr (First) z[r] = _mm512_mul_ps(ball.beta, step);
    else z[r] = _mm512_fmadd_ps(ball.beta, step, _mm512_load_ps(dual + at * 16));
    squares[r] = _mm512_mul_ps(z[r], z[r]);
  }
  const __m512 sums = V::row_sums(squares), factor = shrink_factor(ball, sums);
  const __m512 factors[4] = {V::template one_of<0>(factor), V::template one_of<1>(factor),
                             V::template one_of<2>(factor), V::template one_of<3>(factor)};
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    z[r] = _mm512_mul_ps(z[r], factors[r]);
    if (r < count) _mm512_store_ps(dual + (g + r) * 16, z[r]);
  }
  if constexpr (!Keep) return 0;
  const unsigned mask = _mm512_cmp_ps_mask(sums, ball.squared, _CMP_GT_OQ) & V::kPlaces & (kFirst * ((1u << count) - 1));
  if (mask && width == P) {
    to = keep_full_rows<P>(mask, z, factor, to);
  } else if (mask) {
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) z[r] = _mm512_mask_mov_ps(z[r], ball.free_lanes, factors[r]);
    to = keep_rows<P>(mask, z, width, to);
  }
  return mask;
}

// B1 and B2 for one chunk: the dual of its slots, then Q and U of its nodes.
template <int P, bool Weighted, bool First, bool Keep>
void ascend(const PackedProblem& problem, const ForwardRows<P>& rows, std::int64_t chunk, std::uint16_t* masks, float*& to) {
  using V = Packed<P>;
  const PackedGraph& graph = problem.graph;
  const std::int32_t *__restrict group = graph.group, *__restrict column = graph.column, *__restrict owner = graph.owner;
  float *__restrict dual = rows.dual, *__restrict u = rows.u, *__restrict q = rows.q;
  const float *__restrict ub = rows.ub, *weight = rows.weight;
  const NodeFactors* __restrict factors = rows.factors;
  const std::int64_t low = graph.chunk[chunk], high = graph.chunk[chunk + 1], last = group[high];
  const __m512 radius = _mm512_set1_ps(problem.lambda1);
  const unsigned free_lane = problem.width < P ? 1u << problem.width : 0;
  const Ball ball{_mm512_set1_ps(problem.beta), radius, _mm512_mul_ps(radius, radius),
                  __mmask16(free_lane * (P == 4 ? 0x1111 : P == 8 ? 0x0101 : 1))};
  const std::int64_t width = problem.width;
  float* end = to;
  std::int64_t g = group[low];
  for (; g + 4 <= last; g += 4) {
    const unsigned mask = ascend_quad<P, First, Keep>(ball, g, 4, owner, column, ub, dual, width, end);
    if constexpr (Keep) *masks++ = std::uint16_t(mask);
  }
  if (g < last) {
    const unsigned mask = ascend_quad<P, First, Keep>(ball, g, int(last - g), owner, column, ub, dual, width, end);
    if constexpr (Keep) *masks = std::uint16_t(mask);
  }
  to = end;
  for (std::int64_t i = low; i < high; ++i) {
    const __m512 total = node_sum<P, Weighted, true>(group[i], group[i + 1], weight, [=](std::int64_t k) {
      return _mm512_load_ps(dual + k * 16);
    });
    const __m512 change = _mm512_sub_ps(total, V::everywhere(q + i * P));
    V::store(u + i * P, _mm512_fnmadd_ps(_mm512_set1_ps(factors[i].back), change, V::everywhere(ub + i * P)));
    V::store(q + i * P, total);
  }
}

template <int P>
using Ascend = void (*)(const PackedProblem&, const ForwardRows<P>&, std::int64_t, std::uint16_t*, float*&);

template <int P>
Ascend<P> ascend_kind(bool weighted, bool first, bool keep) {
  static constexpr Ascend<P> kinds[] = {
      ascend<P, false, false, false>, ascend<P, false, false, true>, ascend<P, false, true, false>,
      ascend<P, false, true, true>,   ascend<P, true, false, false>, ascend<P, true, false, true>,
      ascend<P, true, true, false>,   ascend<P, true, true, true>};
  return kinds[weighted * 4 + first * 2 + keep];
}

// Memory for the rows outside the ball of one thread: pieces that fill up one after the other.
struct Pieces {
  static constexpr int kMost = 32;
  float *at[kMost], *end[kMost];
  int now = 0, count = 0;
  std::size_t need = 0, largest = 0;  // floats that a step takes at most, and one chunk of it

  void plan(const PackedProblem& problem, int lanes, int part, int parts) {
    const std::int64_t chunks = problem.graph.num_chunks, low = chunks * part / parts;
    for (std::int64_t c = low; c < chunks * (part + 1) / parts; ++c) {
      const std::size_t most = most_floats(problem, lanes, c);
      need += most;
      largest = most > largest ? most : largest;
    }
    need += largest;  // the end of a piece may stay unused
  }
  // Floats to ask for before the next step.
  std::size_t wish() {
    if (count - now == kMost) ++now;
    std::size_t room = 0;
    for (int k = now; k < count; ++k) room += std::size_t(end[k] - at[k]);
    if (room >= need) return 0;
    const std::size_t missing = need - room + largest;
    return missing > need / 8 ? missing : need / 8;
  }
  void add(float* base, std::size_t floats) {
    int kept = 0;
    for (int k = now; k < count; ++k, ++kept) at[kept] = at[k], end[kept] = end[k];
    now = 0, count = kept + 1;
    at[kept] = base, end[kept] = base + floats;
  }
  float*& place(std::size_t floats) {
    while (std::size_t(end[now] - at[now]) < floats) ++now;
    return at[now];
  }
  // Floats that the rows of a chunk take if all are outside; 16 more, because rows are written whole.
  static std::size_t most_floats(const PackedProblem& problem, int lanes, std::int64_t chunk) {
    const PackedGraph& g = problem.graph;
    const std::int64_t rows = std::int64_t(g.group[g.chunk[chunk + 1]] - g.group[g.chunk[chunk]]) * (16 / lanes);
    return std::size_t(rows * (problem.width + 1) + 16);
  }
};

// Room for the rows of the next step in every thread's pieces; false if there is no memory.
bool make_room(const PackedKept& kept, Pieces* pieces, int parts) {
  std::size_t wish[kMostThreads], all = 0;
  for (int t = 0; t < parts; ++t) all += wish[t] = pieces[t].wish();
  if (all == 0) return true;
  float* base = kept.more(kept.context, all);
  if (base == nullptr) return false;
  for (int t = 0; t < parts; base += wish[t], ++t)
    if (wish[t]) pieces[t].add(base, wish[t]);
  return true;
}

template <int P>
bool forward_rows(const PackedProblem& problem, const float* x, float* out, const PackedKept* kept,
                  ForwardRows<P> rows) {
  const PackedGraph& g = problem.graph;
  const bool weighted = g.weight != nullptr;
  const std::int64_t quads = quad_of(g, g.num_chunks);
  Pieces pieces[kMostThreads];
  bool enough = true;
#pragma omp parallel firstprivate(rows) num_threads(problem.threads < kMostThreads ? problem.threads : kMostThreads)
  {
    const Team team(g);
    float* nowhere = nullptr;
    if (kept) pieces[team.part].plan(problem, P, team.part, team.parts);
    prepare<P>(problem, x, rows, team.low_node, team.high_node);
#pragma omp barrier
    for (int step = 0; step < problem.steps && enough; ++step) {
      if (weighted) smooth<P, true>(g, rows, team.low_node, team.high_node);
      else smooth<P, false>(g, rows, team.low_node, team.high_node);
      if (!problem.has_dual()) {  // Ub is the next U
        float* const last = rows.u;
        rows.u = rows.ub, rows.ub = last;
#pragma omp barrier
        continue;
      }
#pragma omp master
      if (kept) enough = make_room(*kept, pieces, team.parts);
#pragma omp barrier
      const auto sweep = ascend_kind<P>(weighted, step == 0, kept != nullptr);
      for (std::int64_t c = team.low; c < team.high && enough; ++c) {
        float** to = &nowhere;
        if (kept) {
          to = &pieces[team.part].place(Pieces::most_floats(problem, P, c));
          kept->rows[step * g.num_chunks + c] = *to;
        }
        sweep(problem, rows, c, kept ? kept->masks + step * quads + quad_of(g, c) : nullptr, *to);
      }
#pragma omp barrier
    }
    hand_back(problem, team.low_node, team.high_node, out,
              [&](std::int64_t i, std::int64_t c) { return rows.u[i * P + c] / rows.scale[i]; });
  }
  return enough;
}

}  // namespace

int packed_lanes(std::int64_t width) { return width <= 4 ? 4 : width <= 8 ? 8 : width <= 16 ? 16 : 0; }

// Bytes of scratch that the call needs when `scratch` is null; else runs it, and gives 0 if memory ran out.
std::size_t packed_forward(const PackedProblem& problem, const float* x, float* out, const PackedKept* kept, char* scratch) {
  return with_lanes(problem.width, [&](auto packed) -> std::size_t {
    Arena arena{scratch};
    const ForwardRows<16 / decltype(packed)::G> rows(problem.graph, problem.has_dual(), arena);
    if (scratch && !forward_rows(problem, x, out, kept, rows)) return 0;
    return arena.used;
  });
}

#else

int packed_lanes(std::int64_t) { return 0; }
std::size_t packed_forward(const PackedProblem&, const float*, float*, const PackedKept*, char*) { return 0; }

#endif

}  // namespace elasticgnn::ISA_NAMESPACE
