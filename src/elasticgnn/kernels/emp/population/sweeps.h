// The sweeps of one elastic step for a group of runs, which are the lanes; the channels of a row
// are its vectors.
//
// Everything is held in terms of V = beta U (emp/problem.h has U), so that the dual takes plain
// differences, and instead of Q there is C = beta gamma (s X - s^2 Q), of which each half of a step
// needs only one term:
//   A   Vb_i = (1 - gamma - smoothing s^2 sum w) V_i + smoothing s^2 sum_j w V_j + C_i
//   B1  Z_e  = project(Z_e + Vb_tail - Vb_head)
//   B2  C_i  = beta gamma (s X_i - s^2 Q_i),  V_i = Vb_i + new C_i - old C_i
// V takes the place of Vb: when B2 comes to a node, no edge needs its Vb any more.
#pragma once

#include "emp/general/rows.h"
#include "threads/steps.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <int Lanes, int Width, Shape S>
struct PopulationSweeps {
  using R = Rows<float, Lanes, Width, true>;
  using P = typename R::P;
  using Vec = typename R::Vec;
  using Row = RowBuffer<R>;  // passed on by reference: what a function returns lies in memory
  using Proj = Projection<S, R>;
  static constexpr std::int64_t kRow = Lanes * Width;

  const Plan<float>& plan;
  const float* begin;  // (n, row): V at the start
  float *v, *other;    // (n, row): V of the last step, and room for the next
  float *c, *dual;     // (n, row) and (m, row), or null if there is no dual
  float* half;         // (n, row): sums over the edges that start at a node; null for one thread

  // The sum of w_p times the table's row index[p] for first <= p < end
  static ELASTICGNN_INLINE void gather(const Tables<float>& g, const float* table,
                                       const std::int32_t* index, std::int64_t first,
                                       std::int64_t end, Row& sum) {
    for (int k = 0; k < Width; ++k) sum[k] = Vec{};
    if (g.slot_weight) {
      for (std::int64_t p = first; p < end; ++p) {
        const Vec w = P::splat(g.slot_weight[p]);
        for (int k = 0; k < Width; ++k) sum[k] += w * P::load(table + index[p] * kRow + k * Lanes);
      }
    } else {
      std::int64_t p = first;
      for (; p + 1 < end; p += 2) {  // two rows in flight
        const float *const one = table + index[p] * kRow, *const two = table + index[p + 1] * kRow;
        for (int k = 0; k < Width; ++k)
          sum[k] += P::load(one + k * Lanes) + P::load(two + k * Lanes);
      }
      if (p < end)
        for (int k = 0; k < Width; ++k) sum[k] += P::load(table + index[p] * kRow + k * Lanes);
    }
  }

  // C, or what it is while Q is 0: gamma times the V of the start.
  struct Source {
    const float* rows;
    Vec factor;
    ELASTICGNN_INLINE Vec load(std::int64_t at) const { return factor * P::load(rows + at); }
  };

  Source source(const Sizes<R>& sizes, bool first) const {
    return first || !c ? Source{begin, sizes.gamma} : Source{c, P::splat(1)};
  }

  // A
  void smooth(std::int64_t low, std::int64_t high, const float* __restrict from,
              float* __restrict to, bool first) const {
    const Sizes<R> sizes(R(Lanes, Width), *plan.problem);
    const Tables<float> g(plan);
    const Source add = source(sizes, first);
    Row sum(nullptr, 0);
    for (std::int64_t i = low; i < high; ++i) {
      gather(g, from, g.column, g.start[i], g.start[i + 1], sum);
      const Vec in = sizes.smoothing * (g.scale[i] * g.scale[i]),
                own = 1 - sizes.gamma - in * g.total(i);
      for (int k = 0; k < Width; ++k) {
        const std::int64_t at = i * kRow + k * Lanes;
        P::store(to + at, own * P::load(from + at) + add.load(at) + in * sum[k]);
      }
    }
  }

  // B1 for the edges that start at node i; `own` is Vb of the node, `sum` gets their part of Q.
  static ELASTICGNN_INLINE void ascend(const Sizes<R>& sizes, const Tables<float>& g,
                                       std::int64_t i, const float* vb, float* __restrict z,
                                       bool first, Row& own, Row& sum) {
    const R rows(Lanes, Width);
    Row next(nullptr, 0);
    for (int k = 0; k < Width; ++k) own[k] = P::load(vb + i * kRow + k * Lanes), sum[k] = Vec{};
    float* __restrict to = z + g.first_edge[i] * kRow;
    for (std::int64_t p = g.middle(i), end = g.start[i + 1]; p < end; ++p, to += kRow) {
      const float* far = vb + g.column[p] * kRow;
      Vec even{}, odd{};  // two sums: an addition waits for the one before it
      for (int k = 0; k < Width; ++k) {
        const Vec step = own[k] - P::load(far + k * Lanes);
        next[k] = first ? step : P::load(to + k * Lanes) + step;
        (k % 2 ? odd : even) += next[k] * next[k];
      }
      if constexpr (S == Shape::box) {
        for (int k = 0; k < Width; ++k) next[k] = Proj::clamp(sizes, rows, next[k]);
      } else {
        const Vec factor = Proj::shrink(sizes, rows, even + odd);
        for (int k = 0; k < Width; ++k) next[k] *= factor;
      }
      for (int k = 0; k < Width; ++k) P::store(to + k * Lanes, next[k]);
      if (g.slot_weight) {
        const Vec w = P::splat(g.slot_weight[p]);
        for (int k = 0; k < Width; ++k) sum[k] += w * next[k];
      } else {
        for (int k = 0; k < Width; ++k) sum[k] += next[k];
      }
    }
  }

  // What B2 reads and writes.
  struct Settling {
    const float* dual;
    Source begin, old;
    float *v, *c;
  };

  // B2 of node i, given its Vb and the part of Q of the edges that start there.
  static ELASTICGNN_INLINE void settle(const Sizes<R>& sizes, const Tables<float>& g,
                                       std::int64_t i, Row& own, Row& starting, Row& ending,
                                       const Settling& to) {
    gather(g, to.dual, g.edge, g.start[i], g.middle(i), ending);
    const Vec back = sizes.beta * sizes.gamma * (g.scale[i] * g.scale[i]);
    for (int k = 0; k < Width; ++k) {
      const std::int64_t at = i * kRow + k * Lanes;
      const Vec next = to.begin.load(at) - back * (starting[k] - ending[k]);
      P::store(to.v + at, own[k] + (next - to.old.load(at)));
      P::store(to.c + at, next);
    }
  }

  // B1 and B2. One thread alone does both node by node: when it comes to a node, the edges that end
  // there are done.
  void move_dual(float* vb, bool first) const {
    const Sizes<R> sizes(R(Lanes, Width), *plan.problem);
    const Tables<float> g(plan);
    const Settling to{dual, source(sizes, true), source(sizes, first), vb, c};
    float* const z =
        dual;  // a local: what is read through `this` is loaded again after every store
    Row own(nullptr, 0), sum(nullptr, 0), ending(nullptr, 0);
    if (omp_get_num_threads() == 1) {
      for (std::int64_t i = 0, n = plan.problem->num_nodes; i < n; ++i) {
        ascend(sizes, g, i, vb, z, first, own, sum);
        settle(sizes, g, i, own, sum, ending, to);
      }
      return;
    }
    for_blocks(plan.by_tail, [&](int, std::int64_t low, std::int64_t high) {
      for (std::int64_t i = low; i < high; ++i) {
        ascend(sizes, g, i, vb, z, first, own, sum);
        for (int k = 0; k < Width; ++k) P::store(half + i * kRow + k * Lanes, sum[k]);
      }
    });
#pragma omp barrier
    for_blocks(plan.by_head, [&](int, std::int64_t low, std::int64_t high) {
      for (std::int64_t i = low; i < high; ++i) {
        for (int k = 0; k < Width; ++k)
          own[k] = P::load(vb + i * kRow + k * Lanes),
          sum[k] = P::load(half + i * kRow + k * Lanes);
        settle(sizes, g, i, own, sum, ending, to);
      }
    });
  }

  // All steps, by every thread of a team on a copy of its own; V of the last is in `v` then.
  void run() {
    Steps steps{plan.problem->interrupt};
    for (int step = 0; step < plan.problem->steps && steps.next(); ++step) {
      for_blocks(plan.by_slot, [&](int, std::int64_t low, std::int64_t high) {
        smooth(low, high, step ? v : begin, other, step == 0);
      });
#pragma omp barrier
      if (dual) {
        move_dual(other, step == 0);
#pragma omp barrier
      }
      float* const last = v;
      v = other, other = last;
    }
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
