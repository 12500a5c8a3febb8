// The steps of elastic message passing for wide rows. With Y = Ub + gamma s^2 Q (emp/problem.h has
// the rest) a step is
//   A   Y_i = gamma s X_i + (1 - gamma) U_i + smoothing s^2 sum_j w (U_j - U_i),  Ub_i = Y_i -
//   gamma s^2 Q_i,  Q_i = 0 B   Z_e = project(Z_e + beta (Ub_tail - Ub_head)),  Q_tail += w Z_e,
//   Q_head -= w Z_e
//       U_i = Y_i - gamma s^2 Q_i once all edges of i are done
// Ub and Q of a node lie side by side: an edge touches both.
#pragma once

#include "emp/wide/active_rows.h"
#include "emp/wide/blocks.h"
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
  const PairTables<Row, T>& pairs;  // Ub and Q
  const Row row;
  const T* weight;  // (m), or null: all are 1
  Vec* pool;        // of this thread
  T *in, *dual;     // (n, stride): gamma s X, (m, stride)

  void begin(std::int64_t low, std::int64_t high, T* u) const {
    const std::int64_t stride = row.stride();
    for (std::int64_t i = low; i < high; ++i) {
      const T s = problem.scale[i], share = problem.gamma[0] * s;
      for (int v = 0; v < row.count(); ++v) {
        const Vec x = row.load_given(problem.x + i * row.width, v);
        row.store(u + i * stride, v, s * x), row.store(in + i * stride, v, share * x);
      }
      pairs.clear_sums(i);
    }
  }

  // A
  void smooth(std::int64_t low, std::int64_t high, const T* u, T* y) const {
    const Row row = this->row;
    const Tables<T> g(plan);
    const std::int64_t stride = row.stride();
    const T gamma = problem.gamma[0], smoothing = problem.smoothing[0];
    const T* const in = this->in;
    const bool far = g.far_nodes;
    for (std::int64_t i = low; i < high; ++i) {
      const T s = g.scale[i], share = smoothing * (s * s);
      const Vec near = P::splat(1 - gamma - share * g.total(i)), others = P::splat(share),
                back = P::splat(gamma * (s * s));
      const T *const from = in + i * stride, *const own = u + i * stride;
      T *const to = y + i * stride, *const ub = pairs.read(i, pairs.home(i)),
               *const q = ub + stride;
      row.gather_node(g, u, i, far, [&](int v, Vec sum) ELASTICGNN_INLINE_LAMBDA {
        const Vec value = row.load(from, v) + near * row.load(own, v) + others * sum;
        row.store(to, v, value);
        row.store(ub, v, value - back * row.load(q, v));
        row.store(q, v, Vec{});
      });
      pairs.copy_read(i);
    }
  }

  // B for the edges first .. last - 1 of a block; active rows are appended to `active` if Save.
  template <bool Save>
  void ascend(int block, std::int64_t first, std::int64_t last, DualStep step, std::uint8_t* mask,
              T*& active) const {
    const SweptTables<Row, T> tables{
        row, pairs.blocks, problem.num_nodes, problem.num_edges, pairs.table[block], dual, pool};
    if constexpr (Row::kIsOneVector)
      return ascend_one_vector<Row, Save>(problem, tables, weight, first, last, step, mask, active);
    const Row row = this->row;
    const typename Row::R padded = row.padded();
    const Sizes<typename Row::R> sizes(padded, problem);
    const T* const weight = this->weight;
    const bool is_first = step.is_first;
    T* saved = active;
    const auto renew = [&](std::int64_t e, const T* own, const T* other, const T* here,
                           Vectors& z) ELASTICGNN_INLINE_LAMBDA {
      Vec squares{}, more{};  // two sums: an addition waits for the one before it
      for (int v = 0; v < row.count(); ++v) {
        const Vec change = sizes.beta * (row.load(own, v) - row.load(other, v));
        z[v] = is_first ? change : row.load(here, v) + change;
        if constexpr (Row::S == Shape::box) z[v] = Proj::clamp(sizes, padded, z[v]);
        else if (v % 2) more += z[v] * z[v];
        else squares += z[v] * z[v];
      }
      if constexpr (Row::S != Shape::box) {
        const Vec factor = Proj::shrink(sizes, padded, squares + more);
        for (int v = 0; v < row.count(); ++v) z[v] *= factor;
        if constexpr (Save) {
          mask[e] = factor[0] < 1;
          if (factor[0] < 1) {  // padding behind the row is overwritten by what follows
            for (int v = 0; v < row.count(); ++v) row.store(saved, v, z[v]);
            saved[row.width] = factor[0];
            saved += row.width + 1;
          }
        }
      }
      return P::splat(weight ? weight[e] : T(1));
    };
    sweep_edges(tables, first, last, step, renew);
    active = saved;
  }

  // U of the nodes low .. high - 1 takes the place of Y; the last one goes to `out` as F.
  void settle(std::int64_t low, std::int64_t high, T* y, T* out) const {
    const std::int64_t stride = row.stride();
    for (std::int64_t i = low; i < high; ++i) {
      const T s = problem.scale[i];
      const Vec back = P::splat(problem.gamma[0] * (s * s));
      const T* const q = pairs.sum(i, pairs.home(i));
      pairs.add_sums(i);
      for (int v = 0; v < row.count(); ++v) {
        const Vec value = row.load(y + i * stride, v) - back * row.load(q, v);
        if (out) row.store_given(out + i * row.width, v, value / s);
        else row.store(y + i * stride, v, value);
      }
    }
  }

  // All steps, by every thread of a team.
  void run(const BlockWalk& walk, T* u, T* y, T* out, ActiveRowWriter<T>* writer) const {
    Steps steps{problem.interrupt};
    for_blocks(plan.by_slot,
               [&](int, std::int64_t low, std::int64_t high) { begin(low, high, u); });
#pragma omp barrier
    for (int k = 0; k < problem.steps && !(writer && writer->failed) && steps.next(); ++k) {
      for_blocks(plan.by_slot,
                 [&](int, std::int64_t low, std::int64_t high) { smooth(low, high, u, y); });
#pragma omp barrier
      const bool is_last = k + 1 == problem.steps;
      const DualStep step{k == 0, is_last, !is_last && row.streams(problem.num_edges)};
      T* const last_out = is_last ? out : nullptr;
      walk.visit(
          plan.by_slot,
          [&](int block, std::int64_t chunk, std::int64_t first, std::int64_t last) {
            T* active = nullptr;
            if constexpr (Row::S == Shape::ball) {
              if (writer) {
                active = writer->begin();
                ascend<true>(block, first, last, step, writer->mask(k), active);
                return writer->write(k, chunk, active);
              }
            }
            ascend<false>(block, first, last, step, nullptr, active);
          },
          [&](std::int64_t low, std::int64_t high) { settle(low, high, y, last_out); });
      T* const swap = u;
      u = y, y = swap;
    }
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
