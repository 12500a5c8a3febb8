// Elastic message passing forward where the node rows are larger than the caches: edges in tiles. float32, l21.
//
// The nodes are cut into blocks whose rows fit a cache, and a tile holds the edges between two blocks. Both ends of
// an edge are added to where they lie, so every row that a tile touches is near, and the dual only streams. The tiles
// of a round have no block in common: threads share them, and each row gets its terms in an order that depends on
// the graph alone. In the last round each block meets itself, and its nodes are done. graph/tiling.py makes the tables.
#include "emp_kinds.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

constexpr std::int64_t kAhead = 8;  // edges; the rows of the next heads are asked for before they are needed

template <class Loop>
struct TiledSweeps {
  using R = typename Loop::R;
  using P = typename R::P;
  using Vec = typename R::Vec;

  const EmpProblem<float>& problem;
  const EmpTiled& tiles;
  const float* weight;  // (m) in the tiles' order, or null: all are 1
  const R rows;

  // For each edge (t, h) of a tile take(edge, row of t, row of h, sum, given) adds to the sum of t; `given` is added to
  // that of h. The sums are rows of `total`.
  template <class Take>
  ELASTICGNN_INLINE void visit(std::int64_t first, std::int64_t last, const float* from, float* total, const Take& take) const {
    const R rows = this->rows;
    const std::int64_t stride = rows.stride(), last_edge = problem.num_edges - 1;
    const std::int32_t *const tail = tiles.tail, *const head = tiles.head;
    Bag<R> own(nullptr, 0), sum(nullptr, 0), given(nullptr, 0);
    for (std::int64_t e = first; e < last;) {
      const std::int64_t t = tail[e];
      for (int v = 0; v < rows.count(); ++v) own[v] = rows.load(from + t * stride, v), sum[v] = rows.load(total + t * stride, v);
      do {
        const std::int64_t soon = head[e + kAhead < last_edge ? e + kAhead : last_edge] * stride, h = head[e] * stride;
        fetch_row(from + soon, stride), fetch_row(total + soon, stride);
        take(rows, e, own, from + h, sum, given);
        for (int v = 0; v < rows.count(); ++v) rows.store(total + h, v, rows.load(total + h, v) + given[v]);
      } while (++e < last && tail[e] == t);
      for (int v = 0; v < rows.count(); ++v) rows.store(total + t * stride, v, sum[v]);
    }
  }

  // A: the neighbours' rows of U are added up.
  void gather(std::int64_t first, std::int64_t last, const float* u, float* total) const {
    const float* const weight = this->weight;
    visit(first, last, u, total, [=](auto& rows, auto e, auto& own, const float* other, auto& sum, auto& given) ELASTICGNN_INLINE_LAMBDA {
      if (weight) {
        const Vec w = P::splat(weight[e]);
        for (int v = 0; v < rows.count(); ++v) sum[v] += w * rows.load(other, v), given[v] = w * own[v];
      } else {
        for (int v = 0; v < rows.count(); ++v) sum[v] += rows.load(other, v), given[v] = own[v];
      }
    });
  }

  // B1, and the new Q is added up.
  void ascend(std::int64_t first, std::int64_t last, const float* ub, float* dual, bool is_first, float* q) const {
    const float* const weight = this->weight;
    const Sizes<R> sizes(rows, problem);
    visit(first, last, ub, q, [=](auto& rows, auto e, auto& own, const float* other, auto& sum, auto& given) ELASTICGNN_INLINE_LAMBDA {
      Bag<R> z(nullptr, 0);
      float* const here = dual + e * rows.stride();
      Vec squares{};
      for (int v = 0; v < rows.count(); ++v) {
        const Vec step = sizes.beta * (own[v] - rows.load(other, v));
        z[v] = is_first ? step : rows.load(here, v) + step;
        squares += z[v] * z[v];
      }
      Loop::project(sizes, rows, squares, z);
      const Vec w = P::splat(weight ? weight[e] : 1.0f);
      for (int v = 0; v < rows.count(); ++v) {
        rows.store(here, v, z[v]);
        sum[v] += w * z[v], given[v] = -w * z[v];
      }
    });
  }

  // Ub of the nodes low .. high - 1, whose neighbours are added up there; the next Q begins with 0.
  void smooth(std::int64_t low, std::int64_t high, const float* total, const float* u, const float* q, float* ub, float* next) const {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const std::int64_t stride = rows.stride();
    for (std::int64_t i = low; i < high; ++i) {
      const float s = problem.scale[i];
      const Vec share = sizes.gamma * s, back = sizes.gamma * (s * s), in = sizes.pull * (s * s);
      const Vec own = 1 - sizes.gamma - in * total[i];
      const std::int64_t at = i * stride;
      for (int v = 0; v < rows.count(); ++v) {
        const Vec value = share * rows.load(problem.x + at, v) + own * rows.load(u + at, v) + in * rows.load(ub + at, v);
        rows.store(ub + at, v, value - back * rows.load(q + at, v));
        rows.store(next + at, v, Vec{});
      }
    }
  }

  // B2 of the nodes low .. high - 1; the next sum over neighbours begins with 0. `out`, or null: F goes there.
  void settle(std::int64_t low, std::int64_t high, const float* q, const float* next, float* ub, float* u, float* out) const {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const std::int64_t stride = rows.stride();
    for (std::int64_t i = low; i < high; ++i) {
      const float s = problem.scale[i];
      const Vec back = sizes.gamma * (s * s);
      const std::int64_t at = i * stride;
      for (int v = 0; v < rows.count(); ++v) {
        const Vec value = rows.load(ub + at, v) - back * (rows.load(next + at, v) - rows.load(q + at, v));
        if (out) rows.store(out + at, v, value / s);
        else rows.store(u + at, v, value), rows.store(ub + at, v, Vec{});
      }
    }
  }
};

// tile(first edge, last edge) of every tile and then block(first node, last node) of every block, by all threads of a team
template <class Tile, class Block>
ELASTICGNN_INLINE void for_tiles(const EmpTiled& tiles, const Tile& tile, const Block& block) {
  for (std::int64_t round = 0; round < tiles.blocks; ++round) {
    const bool is_last = round + 1 == tiles.blocks;
    const std::int64_t count = is_last ? tiles.blocks : tiles.blocks / 2;
    const std::int64_t* const first = tiles.first_edge + round * (tiles.blocks / 2);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t t = 0; t < count; ++t) {
      tile(first[t], first[t + 1]);
      if (is_last) block(tiles.first_node[t], tiles.first_node[t + 1]);
    }
  }
}

template <class K>
std::size_t forward(const EmpProblem<float>& problem, const EmpTiled& job, char* scratch, bool weighted) {
  using Sweeps = TiledSweeps<typename K::Forward>;
  Arena arena{scratch};
  const std::int64_t n = problem.num_nodes, m = problem.num_edges, row = problem.width;
  const auto take_rows = [&] { return arena.take<float>(n * row); };
  float *const u = take_rows(), *const ub = take_rows(), *q = take_rows(), *next = take_rows();
  float* const dual = arena.take<float>(m * row);
  float *const total = arena.take<float>(n), *const weight = weighted ? arena.take<float>(m) : nullptr;
  if (scratch == nullptr) return arena.used;

#pragma omp parallel num_threads(problem.threads) firstprivate(q, next)
  {
    const Sweeps sweeps{problem, job, weight, {1, row}};
    const int threads = omp_get_num_threads(), me = omp_get_thread_num();
    for (std::int64_t i = n * me / threads; i < n * (me + 1) / threads; ++i) {
      const std::int64_t first = problem.start[i], last = problem.start[i + 1];
      total[i] = weighted ? 0.0f : float(last - first);
      for (std::int64_t p = first; p < last && weighted; ++p) total[i] += problem.weight[problem.edge[p]];
      for (std::int64_t c = i * row; c < (i + 1) * row; ++c) u[c] = problem.scale[i] * problem.x[c], ub[c] = q[c] = 0;
    }
    if (weighted)
      for (std::int64_t e = m * me / threads; e < m * (me + 1) / threads; ++e) weight[e] = problem.weight[job.order[e]];
#pragma omp barrier
    for (int k = 0; k < problem.steps; ++k) {
      for_tiles(
          job, [&](auto first, auto last) { sweeps.gather(first, last, u, ub); },
          [&](auto first, auto last) { sweeps.smooth(first, last, total, u, q, ub, next); });
      float* const out = k + 1 == problem.steps ? job.out : nullptr;
      for_tiles(
          job, [&](auto first, auto last) { sweeps.ascend(first, last, ub, dual, k == 0, next); },
          [&](auto first, auto last) { sweeps.settle(first, last, q, next, ub, u, out); });
      float* const last = q;
      q = next, next = last;
    }
  }
  return arena.used;
}

}  // namespace

// The widest rows: four vectors, whose number the compiler knows.
int emp_tiled_width() { return 4 * kVectorBytes / int(sizeof(float)); }

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
std::size_t emp_tiled(const EmpProblem<float>& problem, const EmpTiled& job, char* scratch) {
  const bool weighted = !all_ones(problem.weight, problem.num_edges);
  return with_kind_of_shape<float, Shape::ball>(problem, [&](auto kind) -> std::size_t {
    using K = decltype(kind);
    if constexpr (K::Forward::R::kOpen) return 0;  // wider, or several runs: not called
    else return forward<K>(problem, job, scratch, weighted);
  });
}

}  // namespace elasticgnn::ISA_NAMESPACE
