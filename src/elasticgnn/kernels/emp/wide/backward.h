// The adjoint of the wide steps, with the active rows that the forward pass saved.
// general/adjoint.h has the formulas:
//   E   t_e <- J_e (t_e - gamma w (G_tail - G_head)),  sum_tail += t_e,  sum_head -= t_e
//   N1  bar_i = beta sum_i,  v_i = g_i + bar_i,  grad X_i += gamma s v_i,  S_i = s^2 v_i, once all
//   edges of i are done N2  g_i <- (1 - gamma) v_i + smoothing (sum_j w S_j - c_i S_i),  G_i <- s^2
//   (bar_i + g_i),  sum_i = 0
// J_e is r (I - u u') with u = Z_e / lambda1 for the active rows, else the identity. G and sum
// (then bar) lie side by side.
#pragma once

#include "emp/wide/sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class Row, class T>
struct WideBackwardLoops {
  using P = typename Row::P;
  using Vec = typename Row::Vec;
  using Vectors = typename Row::Vectors;

  const EmpProblem<T>& problem;
  const Plan<T>& plan;
  const PairTables<Row, T>& pairs;  // G and sum
  const ActiveRows<T>& active;
  const Row row;
  const T* weight;      // (m), or null: all are 1
  Vec* pool;            // of this thread
  T *g, *share, *dual;  // (n, stride): g and S, (m, stride): t

  void begin(std::int64_t low, std::int64_t high, const T* grad, T* grad_x) const {
    const std::int64_t stride = row.stride();
    for (std::int64_t i = low; i < high; ++i) {
      const T s = problem.scale[i];
      T* const out = pairs.read(i, pairs.home(i));
      for (int v = 0; v < row.count(); ++v) {
        const Vec given = row.load_given(grad + i * row.width, v);
        row.store(g + i * stride, v, given / s), row.store(out, v, s * given);
        row.store_given(grad_x + i * row.width, v, Vec{});
      }
      pairs.copy_read(i), pairs.clear_sums(i);
    }
  }

  // E for the edges first .. last - 1 of a block, whose active rows begin at `from`
  void descend(int block, std::int64_t first, std::int64_t last, DualStep step,
               const std::uint8_t* mask, const T* from) const {
    const Row row = this->row;
    const typename Row::R padded = row.padded();
    const T* const weight = this->weight;
    const T gamma = problem.gamma[0], inverse = 1 / problem.lambda1[0], square = inverse * inverse;
    const bool is_first = step.is_first;
    const SweptTables<Row, T> tables{
        row, pairs.blocks, problem.num_nodes, problem.num_edges, pairs.table[block], dual, pool};
    const auto renew = [&](std::int64_t e, const T* own, const T* other, const T* here, Vectors& h)
                           ELASTICGNN_INLINE_LAMBDA {
                             const Vec share = P::splat(gamma * (weight ? weight[e] : T(1)));
                             for (int v = 0; v < row.count(); ++v) {
                               const Vec change = share * (row.load(own, v) - row.load(other, v));
                               h[v] = is_first ? -change : row.load(here, v) - change;
                             }
                             if (mask[e]) {
                               Vec products{};
                               for (int v = 0; v < row.count(); ++v)
                                 products += row.load_given(from, v) * h[v];
                               const Vec along = P::splat(padded.fold(products) * square),
                                         factor = P::splat(from[row.width]);
                               for (int v = 0; v < row.count(); ++v)
                                 h[v] = factor * (h[v] - along * row.load_given(from, v));
                               from += row.width + 1;
                             }
                             return P::splat(1);
                           };
    sweep_edges(tables, first, last, step, renew);
  }

  // N1
  void collect(std::int64_t low, std::int64_t high, T* grad_x) const {
    const std::int64_t stride = row.stride();
    const T beta = problem.beta[0], gamma = problem.gamma[0];
    for (std::int64_t i = low; i < high; ++i) {
      const T s = problem.scale[i];
      T* const bar = pairs.sum(i, pairs.home(i));
      pairs.add_sums(i);
      for (int v = 0; v < row.count(); ++v) {
        const Vec add = beta * row.load(bar, v), value = row.load(g + i * stride, v) + add;
        row.store(bar, v, add), row.store(g + i * stride, v, value);
        row.store(share + i * stride, v, (s * s) * value);
        row.store_given(grad_x + i * row.width, v,
                        row.load_given(grad_x + i * row.width, v) + gamma * s * value);
      }
    }
  }

  // N2
  void spread(std::int64_t low, std::int64_t high) const {
    const Row row = this->row;
    const Tables<T> t(plan);
    const std::int64_t stride = row.stride();
    const T own_share = 1 - problem.gamma[0], smoothing = problem.smoothing[0];
    for (std::int64_t i = low; i < high; ++i) {
      const T s = t.scale[i], total = t.total(i);
      T *const out = pairs.read(i, pairs.home(i)), *const bar = out + stride,
               *const own = g + i * stride;
      const T* const mine = share + i * stride;
      row.gather_node(t, share, i, t.far_nodes, [&](int v, Vec sum) ELASTICGNN_INLINE_LAMBDA {
        const Vec value =
            own_share * row.load(own, v) + smoothing * (sum - total * row.load(mine, v));
        row.store(out, v, (s * s) * (row.load(bar, v) + value));
        row.store(own, v, value), row.store(bar, v, Vec{});
      });
      pairs.copy_read(i);
    }
  }

  void end(std::int64_t low, std::int64_t high, T* grad_x) const {
    for (std::int64_t i = low; i < high; ++i)
      for (int v = 0; v < row.count(); ++v) {
        T* const to = grad_x + i * row.width;
        row.store_given(
            to, v, row.load_given(to, v) + problem.scale[i] * row.load(g + i * row.stride(), v));
      }
  }

  // All steps, by every thread of a team.
  void run(const BlockWalk& walk, const T* grad, T* grad_x) const {
    Steps steps{problem.interrupt};
    const std::int64_t chunks = walk.num_chunks();
    for_blocks(plan.by_slot,
               [&](int, std::int64_t low, std::int64_t high) { begin(low, high, grad, grad_x); });
#pragma omp barrier
    for (int k = problem.steps - 1; k >= 0 && steps.next(); --k) {
      const std::uint8_t* const mask = active.mask + k * problem.num_edges;
      const DualStep step{k + 1 == problem.steps, k == 0, k > 0 && row.streams(problem.num_edges)};
      walk.visit(
          plan.by_slot,
          [&](int block, std::int64_t chunk, std::int64_t first, std::int64_t last) {
            descend(block, first, last, step, mask, active.rows[k * chunks + chunk]);
          },
          [&](std::int64_t low, std::int64_t high) { collect(low, high, grad_x); });
      for_blocks(plan.by_slot,
                 [&](int, std::int64_t low, std::int64_t high) { spread(low, high); });
#pragma omp barrier
    }
    for_blocks(plan.by_slot,
               [&](int, std::int64_t low, std::int64_t high) { end(low, high, grad_x); });
  }
};

template <class Row, class T>
std::size_t wide_backward_rows(const EmpProblem<T>& problem, const WideBackward<T>& job,
                               const Row& row, char* scratch, bool weighted) {
  using Loops = WideBackwardLoops<Row, T>;
  using Vec = typename Row::Vec;
  Arena arena{scratch};
  const Plan<T> plan = make_plan(problem, weighted, arena);
  const std::int64_t rows = problem.num_nodes * row.stride();
  T *const g = arena.take<T>(rows), *const share = arena.take<T>(rows);
  T* const dual = arena.take<T>(problem.num_edges * row.stride());
  const PairTables<Row, T> pairs(job.blocks, row, arena);
  const std::int64_t each = 2 * row.count();
  Vec* const pool = arena.take<Vec>(problem.threads * each);
  if (scratch == nullptr) return arena.used;
  const BlockWalk walk{job.blocks};
#pragma omp parallel num_threads(plan.threads)
  {
    const T* const weight = weighted ? problem.weight : nullptr;
    const Loops loops{
        problem, plan,  pairs, *job.active, row, weight, pool + omp_get_thread_num() * each,
        g,       share, dual};
    loops.run(walk, job.grad, job.grad_x);
  }
  return arena.used;
}

}  // namespace

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
template <class T>
std::size_t wide_backward(const EmpProblem<T>& problem, const WideBackward<T>& job, char* scratch) {
  const bool weighted = !all_ones(problem.weight, problem.num_edges);
  return with_wide_row<T, Shape::ball>(problem.width, [&](const auto& row) {
    return wide_backward_rows(problem, job, row, scratch, weighted);
  });
}

}  // namespace elasticgnn::ISA_NAMESPACE
