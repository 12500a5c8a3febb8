// Elastic message passing forward, for rows of at most 16 floats and the l21 or l1 norm.
// Needs AVX-512: without it packed_lanes() is 0 and nothing here is called.
#include <initializer_list>

#include "emp/packed/ascent.h"
#include "emp/packed/pieces.h"
#include "emp/packed/problem.h"
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
  const bool save = masks != nullptr;
  float* end = to;
  const bool far = is_far<P>(graph);
  const std::int64_t num_groups = graph.num_groups;
  const auto start = [&](std::int64_t g, int count) ELASTICGNN_INLINE_LAMBDA {
    if (far) prefetch_neighbours<P>(ub, column, g, num_groups);
    return climb<P, Share, Box>(ball.beta, g, count, first, owner, column, ub, dual);
  };
  const auto finish = [&](Ascended& up, std::int64_t g, int count) ELASTICGNN_INLINE_LAMBDA {
    if constexpr (Box) {
      clamp<P>(ball, up, g, count, dual, masks);
      masks += save ? 4 : 0;
    } else {
      const unsigned mask = project<P>(ball, up, g, count, save, dual, width, end);
      if (save) *masks++ = std::uint16_t(mask);
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
bool forward_rows(const PackedProblem& problem, const PackedForward& job, ForwardRows<P> rows) {
  const PackedActiveRows* const active = job.active;
  const PackedGraph& g = problem.graph;
  const std::int64_t each = masks_each(problem), quads = quad_of(g, g.num_chunks);
  bool enough = true;
#pragma omp parallel firstprivate(rows) num_threads(problem.team())
  {
    const Team team(g);
    Piece piece;
    if (active) piece.plan(problem, P, team.low, team.high);
    Steps steps{problem.interrupt};
    prepare<P>(problem, job.x, rows, team);
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
        if (active && !Box && !piece.reserve(problem, P, c, *active)) {
#pragma omp atomic write
          enough = false;
          break;
        }
        if (active) active->rows[step * g.num_chunks + c] = piece.at;
        std::uint16_t* const masks =
            active ? active->masks + (step * quads + quad_of(g, c)) * each : nullptr;
        with_share<P>(g.share[c], [&](auto n) {
          ascend<P, share_of(n), Box>(problem, rows, c, step == 0, masks, piece.at);
          collect<P, share_of(n), Weighted>(problem, rows, c);
        });
      }
#pragma omp barrier
    }
    hand_back(problem, team.low_node, team.high_node, job.out, [&](std::int64_t i, std::int64_t c) {
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
std::size_t packed_forward(const PackedProblem& problem, const PackedForward& job, char* scratch) {
  return with_lanes(problem.width, [&](auto packed) -> std::size_t {
    constexpr int P = decltype(packed)::kLanes;
    Arena arena{scratch};
    const ForwardRows<P> rows(problem, arena);
    bool enough = true;
    if (scratch)
      with_traits(problem, [&](auto weighted, auto box) {
        enough = forward_rows<P, weighted, box>(problem, job, rows);
      });
    return enough ? arena.used : 0;
  });
}

#else

int packed_lanes(std::int64_t) { return 0; }
std::size_t packed_forward(const PackedProblem&, const PackedForward&, char*) { return 0; }

#endif

}  // namespace elasticgnn::ISA_NAMESPACE
