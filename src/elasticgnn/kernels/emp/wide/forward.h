// The steps of elastic message passing for wide rows. With Y = Ub + gamma s^2 Q (emp/problem.h has
// the rest) a step is
//   A   Y_i = gamma s X_i + (1 - gamma) U_i + smoothing s^2 sum_j w (U_j - U_i)
//       V_i = beta (Y_i - gamma s^2 Q_i), added to the old V_i where the dual is lazy;  Q_i = 0
//   B   Z_e = project(Z_e + V_tail - V_head),  Q_tail += w Z_e,  Q_head -= w Z_e
//       U_i = Y_i - gamma s^2 Q_i once all edges of i are done
// V and Q of a node lie side by side: an edge touches both. emp/wide/lazy.h has the lazy dual.
#pragma once

#include "emp/wide/active_rows.h"
#include "emp/wide/columns.h"
#include "emp/wide/one_vector.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class Row, class T>
struct WideForwardLoops {
  using P = typename Row::P;
  using Vec = typename Row::Vec;
  using Vectors = typename Row::Vectors;
  using Proj = Projection<Row::S, typename Row::R>;

  const EmpProblem<T>& problem;
  const Plan<T>& plan;
  const PairTable<Row, T>& pairs;  // V and Q
  const TileWalk& walk;
  const Row row;
  const T* weight;  // (m), or null: all are 1
  const LazyDual& lazy;
  const ColumnBlocks<T>& columns;
  Vec* pool;     // of this thread
  T *in, *dual;  // (n, stride): gamma s X, (m, stride)

  void begin(std::int64_t low, std::int64_t high, T* u) const {
    const std::int64_t stride = row.stride();
    for (std::int64_t i = low; i < high; ++i) {
      const T s = problem.scale[i], share = problem.gamma[0] * s;
      for (int v = 0; v < row.count(); ++v) {
        const Vec x = row.load_given(problem.x + i * row.width, v);
        row.store(u + i * stride, v, s * x), row.store(in + i * stride, v, share * x);
      }
      for (int v = 0; v < row.count(); ++v) row.store(pairs.sum(i), v, Vec{});
    }
  }

  // A, where V is added to the old one if it `adds`
  void smooth(std::int64_t low, std::int64_t high, const T* u, T* y, bool adds) const {
    const Row row = this->row;
    const Tables<T> g = columns.tables(plan);
    const std::int64_t stride = row.stride();
    const T gamma = problem.gamma[0], smoothing = problem.smoothing[0];
    const T* const in = this->in;
    const bool far = g.far_nodes, ahead = far && row.prefetches_nodes();
    columns.visit(
        low, high,
        [&](std::int64_t i, std::int64_t first, std::int64_t last, auto is_first,
            auto is_last) ELASTICGNN_INLINE_LAMBDA {
          const T s = g.scale[i], share = smoothing * (s * s);
          const Vec near = P::splat(1 - gamma - share * g.total(i)), others = P::splat(share),
                    back = P::splat(gamma * (s * s)), beta = P::splat(problem.beta[0]);
          const T *const from = in + i * stride, *const own = u + i * stride;
          T *const to = y + i * stride, *const read = pairs.read(i), *const q = read + stride;
          if (ahead) {
            row.prefetch(from + kNodesAhead * stride, stride);
            row.prefetch(own + kNodesAhead * stride, stride);
            row.prefetch(to + kNodesAhead * stride, stride);
            row.prefetch(pairs.read(i + kNodesAhead), 2 * stride);
          }
          row.gather_slots(g, u, first, last, far, [&](int v, Vec sum) ELASTICGNN_INLINE_LAMBDA {
            Vec value;
            if constexpr (is_first)
              value = row.load(from, v) + near * row.load(own, v) + others * sum;
            else value = row.load(to, v) + others * sum;
            row.store(to, v, value);
            if constexpr (!is_last) return;
            const Vec change = beta * (value - back * row.load(q, v));
            row.store(read, v, adds ? row.load(read, v) + change : change);
            row.store(q, v, Vec{});
          });
        });
  }

  // B for the edges first .. last - 1 of a tile; active rows are appended to `active` if Save.
  // Gives the number of active rows of a lazy step.
  template <bool Save, bool Lazy>
  std::int64_t ascend(std::int64_t first, std::int64_t last, DualStep step, std::uint8_t* mask,
                      T*& active) const {
    const SweptTables<Row, T> tables{row,         walk.tiles, problem.num_nodes, problem.num_edges,
                                     pairs.table, dual,       lazy.changed,      pool};
    if constexpr (Row::kIsOneVector)
      return ascend_one_vector<Row, Save, Lazy>(problem, tables, weight, first, last, step, mask,
                                                active);
    const Row row = this->row;
    const typename Row::R padded = row.padded();
    const Sizes<typename Row::R> sizes(padded, problem);
    const T *const weight = this->weight, inside = lazy_bound(problem.lambda1[0]);
    std::uint8_t* const changed = lazy.changed;
    std::int64_t count = 0;
    T* saved = active;
    const auto save = [&](std::int64_t e, Vectors& z, T factor) ELASTICGNN_INLINE_LAMBDA {
      mask[e] = factor < 1;
      if (!(factor < 1)) return;  // padding behind the row is overwritten by what follows
      row.each([&](int v) ELASTICGNN_INLINE_LAMBDA { row.store(saved, v, z[v]); });
      saved[row.width] = factor;
      saved += row.width + 1;
    };
    const auto renew = [&](std::int64_t e, const T* own, const T* other, T* here,
                           Vectors& z) ELASTICGNN_INLINE_LAMBDA {
      const Vec w = P::splat(weight ? weight[e] : T(1));
      Vec squares{}, more{};  // two sums: an addition waits for the one before it
      const auto climb = [&](int v, Vec value) ELASTICGNN_INLINE_LAMBDA {
        z[v] = value;
        if constexpr (Row::S == Shape::box) z[v] = Proj::clamp(sizes, padded, value);
        else if (v % 2) more += value * value;
        else squares += value * value;
      };
      if (step.reads(changed, e))
        row.each([&](int v) ELASTICGNN_INLINE_LAMBDA {
          climb(v, row.load(here, v) + (row.load(own, v) - row.load(other, v)));
        });
      else
        row.each([&](int v)
                     ELASTICGNN_INLINE_LAMBDA { climb(v, row.load(own, v) - row.load(other, v)); });
      if constexpr (Row::S != Shape::box) {
        const Vec all = P::sum_everywhere(squares + more);
        if (Lazy && all[0] <= inside) {
          if constexpr (Save) mask[e] = 0;
          return w;
        }
        const Vec factor = Proj::shrink_by(sizes, padded, all);
        row.each([&](int v) ELASTICGNN_INLINE_LAMBDA { z[v] *= factor; });
        if constexpr (Save) save(e, z, factor[0]);
        if (Lazy && factor[0] < 1) changed[e] = 1, ++count, store_change(row, here, own, other, z);
      }
      return w;
    };
    sweep_edges(tables, first, last, step, renew);
    active = saved;
    return count;
  }

  // U of the nodes low .. high - 1 takes the place of Y; the last one goes to `out` as F.
  void settle(std::int64_t low, std::int64_t high, T* y, T* out) const {
    const Row row = this->row;
    const std::int64_t stride = row.stride(), width = row.width;
    const T* const scale = problem.scale;
    const T gamma = problem.gamma[0];
    const PairTable<Row, T> pairs = this->pairs;
    const bool ahead = Tables<T>(plan).far_nodes;
    for (std::int64_t i = low; i < high; ++i) {
      const T s = scale[i];
      const Vec back = P::splat(gamma * (s * s));
      const T* const q = pairs.sum(i);
      T* const own = y + i * stride;
      if (ahead) {
        row.prefetch(pairs.sum(i + kSettledAhead), stride);
        row.prefetch(own + kSettledAhead * stride, stride);
      }
      for (int v = 0; v < row.count(); ++v) {
        const Vec value = row.load(own, v) - back * row.load(q, v);
        if (out) row.store_given(out + i * width, v, value / s);
        else row.store(own, v, value);
      }
    }
  }

  // B of one chunk, whose active rows go to the writer if there is one.
  void ascend_chunk(int k, DualStep step, std::int64_t chunk, std::int64_t first, std::int64_t last,
                    ActiveRowWriter<T>* writer) const {
    T* active = writer ? writer->begin() : nullptr;
    std::int64_t count = 0;
    if (step.is_lazy && step.is_first) lazy.clear(first, last);
    if (!writer) {
      if (step.is_lazy) count = ascend<false, true>(first, last, step, nullptr, active);
      else ascend<false, false>(first, last, step, nullptr, active);
    } else if constexpr (Row::S == Shape::ball) {
      if (step.is_lazy) count = ascend<true, true>(first, last, step, writer->mask(k), active);
      else ascend<true, false>(first, last, step, writer->mask(k), active);
      writer->write(k, chunk, active);
    }
    if (count) lazy.add_active(k, count);
  }

  // All steps, by every thread of a team.
  void run(T* u, T* y, T* out, ActiveRowWriter<T>* writer) const {
    Steps steps{problem.interrupt};
    share_nodes(plan.by_slot, [&](std::int64_t low, std::int64_t high) { begin(low, high, u); });
    walk.share_gathers(
        plan.by_slot, [&](std::int64_t low, std::int64_t high) { smooth(low, high, u, y, false); });
    DualStep step{};
    for (int k = 0; k < problem.steps && !(writer && writer->failed_before(k)) && steps.next();
         ++k) {
      step = lazy.next(k, step, Row::S != Shape::box, row.streams(problem.num_edges));
      walk.visit(
          plan.by_slot,
          [&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
            ascend_chunk(k, step, chunk, first, last, writer);
          },
          [&](std::int64_t low, std::int64_t high) {
            settle(low, high, y, step.is_last ? out : nullptr);
          },
          [&](std::int64_t low, std::int64_t high) {
            if (!step.is_last) smooth(low, high, y, u, step.is_lazy);
          });
      T* const swap = u;
      u = y, y = swap;
    }
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
