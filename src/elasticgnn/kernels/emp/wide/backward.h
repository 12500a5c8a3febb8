// The adjoint of the wide steps, with the active rows that the forward pass saved.
// general/adjoint.h has the formulas:
//   E   t_e <- J_e (t_e + w (V_tail - V_head)),  sum_tail += t_e,  sum_head -= t_e
//   N1  bar_i = beta sum_i,  v_i = g_i + bar_i,  grad X_i += gamma s v_i,  S_i = s^2 v_i
//       once all edges of i are done
//   N2  g_i <- (1 - gamma) v_i + smoothing (sum_j w S_j - c_i S_i),  sum_i = 0
//       V_i = -gamma s^2 (bar_i + g_i), added to the old V_i where t is lazy (emp/wide/lazy.h)
// J_e is r (I - u u') with u = Z_e / lambda1 for the active rows, else the identity. V and sum
// (then bar) lie side by side.
#pragma once

#include "emp/wide/columns.h"
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
  const PairTable<Row, T>& pairs;  // V and sum
  const TileWalk& walk;
  const ActiveRows<T>& active;
  const Row row;
  const T* weight;  // (m), or null: all are 1
  const LazyDual& lazy;
  const ColumnBlocks<T>& columns;
  Vec* pool;            // of this thread
  T *g, *share, *dual;  // (n, stride): g and S, (m, stride): t

  void begin(std::int64_t low, std::int64_t high, const T* grad, T* grad_x) const {
    const std::int64_t stride = row.stride();
    for (std::int64_t i = low; i < high; ++i) {
      const T s = problem.scale[i], share = -problem.gamma[0] * s;
      T* const out = pairs.read(i);
      for (int v = 0; v < row.count(); ++v) {
        const Vec given = row.load_given(grad + i * row.width, v);
        row.store(g + i * stride, v, given / s), row.store(out, v, share * given);
        row.store_given(grad_x + i * row.width, v, Vec{}), row.store(pairs.sum(i), v, Vec{});
      }
    }
  }

  // E for the edges first .. last - 1 of a tile, whose active rows begin at `from`. Gives the
  // number of active rows.
  std::int64_t descend(std::int64_t first, std::int64_t last, DualStep step,
                       const std::uint8_t* mask, const T* from) const {
    const Row row = this->row;
    const typename Row::R padded = row.padded();
    const T* const weight = this->weight;
    const T inverse = 1 / problem.lambda1[0], square = inverse * inverse;
    std::uint8_t* const changed = lazy.changed;
    std::int64_t count = 0;
    const SweptTables<Row, T> tables{row,         walk.tiles, problem.num_nodes, problem.num_edges,
                                     pairs.table, dual,       lazy.changed,      pool};
    const auto renew = [&](std::int64_t e, const T* own, const T* other, T* here,
                           Vectors& h) ELASTICGNN_INLINE_LAMBDA {
      const Vec w = P::splat(weight ? weight[e] : T(1));
      row.each([&](int v) ELASTICGNN_INLINE_LAMBDA {
        h[v] = w * (row.load(own, v) - row.load(other, v));
      });
      if (step.reads(changed, e))
        row.each([&](int v) ELASTICGNN_INLINE_LAMBDA { h[v] += row.load(here, v); });
      if (mask[e]) {
        Vec products{};
        row.each([&](int v)
                     ELASTICGNN_INLINE_LAMBDA { products += row.load_given(from, v) * h[v]; });
        const Vec along = P::splat(padded.fold(products) * square),
                  factor = P::splat(from[row.width]);
        row.each([&](int v) ELASTICGNN_INLINE_LAMBDA {
          h[v] = factor * (h[v] - along * row.load_given(from, v));
        });
        from += row.width + 1;
        ++count;
        if (step.is_lazy) {
          changed[e] = 1;
          row.each([&](int v) ELASTICGNN_INLINE_LAMBDA {
            row.store(here, v, h[v] - w * (row.load(own, v) - row.load(other, v)));
          });
        }
      }
      return P::splat(1);
    };
    sweep_edges(tables, first, last, step, renew);
    return count;
  }

  // N1
  void collect(std::int64_t low, std::int64_t high, T* grad_x) const {
    const std::int64_t stride = row.stride();
    const T beta = problem.beta[0], gamma = problem.gamma[0];
    for (std::int64_t i = low; i < high; ++i) {
      const T s = problem.scale[i];
      T* const bar = pairs.sum(i);
      for (int v = 0; v < row.count(); ++v) {
        const Vec add = beta * row.load(bar, v), value = row.load(g + i * stride, v) + add;
        row.store(bar, v, add), row.store(g + i * stride, v, value);
        row.store(share + i * stride, v, (s * s) * value);
        row.store_given(grad_x + i * row.width, v,
                        row.load_given(grad_x + i * row.width, v) + gamma * s * value);
      }
    }
  }

  // N2, where V is added to the old one if it `adds`
  void spread(std::int64_t low, std::int64_t high, bool adds) const {
    const Row row = this->row;
    const Tables<T> t = columns.tables(plan);
    const std::int64_t stride = row.stride();
    const T own_share = 1 - problem.gamma[0], smoothing = problem.smoothing[0];
    const bool far = t.far_nodes, ahead = far && row.prefetches_nodes();
    columns.visit(
        low, high,
        [&](std::int64_t i, std::int64_t first, std::int64_t last, auto is_first, auto is_last)
            ELASTICGNN_INLINE_LAMBDA {
              const T s = t.scale[i], total = t.total(i), back = -problem.gamma[0] * (s * s);
              T *const out = pairs.read(i), *const bar = out + stride, *const own = g + i * stride;
              const T* const mine = share + i * stride;
              if (ahead) {
                row.prefetch(own + kNodesAhead * stride, stride);
                row.prefetch(pairs.read(i + kNodesAhead), 2 * stride);
              }
              row.gather_slots(t, share, first, last, far,
                               [&](int v, Vec sum) ELASTICGNN_INLINE_LAMBDA {
                                 Vec value;
                                 if constexpr (is_first)
                                   value = own_share * row.load(own, v) +
                                           smoothing * (sum - total * row.load(mine, v));
                                 else value = row.load(own, v) + smoothing * sum;
                                 row.store(own, v, value);
                                 if constexpr (!is_last) return;
                                 const Vec change = back * (row.load(bar, v) + value);
                                 row.store(out, v, adds ? row.load(out, v) + change : change);
                                 row.store(bar, v, Vec{});
                               });
            });
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
  void run(const T* grad, T* grad_x) const {
    Steps steps{problem.interrupt};
    const std::int64_t chunks = walk.num_chunks();
    share_nodes(plan.by_slot,
                [&](std::int64_t low, std::int64_t high) { begin(low, high, grad, grad_x); });
    DualStep step{};
    for (int k = problem.steps - 1; k >= 0 && steps.next(); --k) {
      const int count = problem.steps - 1 - k;
      step = lazy.next(count, step, true, row.streams(problem.num_edges));
      walk.visit(
          plan.by_slot,
          [&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
            if (step.is_lazy && step.is_first) lazy.clear(first, last);
            const std::int64_t rows =
                descend(first, last, step, active.mask + k * problem.num_edges,
                        active.rows[k * chunks + chunk]);
            if (rows) lazy.add_active(count, rows);
          },
          [&](std::int64_t low, std::int64_t high) { collect(low, high, grad_x); },
          [&](std::int64_t low, std::int64_t high) { spread(low, high, step.is_lazy); });
    }
    share_nodes(plan.by_slot, [&](std::int64_t low, std::int64_t high) { end(low, high, grad_x); });
  }
};

template <class Row, class T>
std::size_t wide_backward_rows(const EmpProblem<T>& problem, const WideBackward<T>& job,
                               const Row& row, char* scratch) {
  using Loops = WideBackwardLoops<Row, T>;
  using Vec = typename Row::Vec;
  Arena arena{scratch};
  const Plan<T> plan = make_wide_plan(problem, job.weights);
  const std::int64_t rows = problem.num_nodes * row.stride();
  T *const g = arena.take<T>(rows), *const share = arena.take<T>(rows);
  T* const dual = arena.take<T>(problem.num_edges * row.stride());
  const PairTable<Row, T> pairs(problem.num_nodes, row, arena);
  const LazyDual lazy(problem.num_edges, problem.steps, arena);
  const ColumnBlocks<T> columns(problem, row, job.weights.slot != nullptr, arena);
  const std::int64_t each = 2 * row.count();
  Vec* const pool = arena.take<Vec>(problem.threads * each);
  if (scratch == nullptr) return arena.used;
  const TileWalk walk{job.tiles, problem.num_nodes, problem.start, problem.column,
                      columns.count > 1};
  lazy.begin();
  columns.fill(job.weights.slot, plan.threads);
#pragma omp parallel num_threads(plan.threads)
  {
    Vec* const own_pool = pool + omp_get_thread_num() * each;
    const Loops loops{problem, plan,    pairs,    walk, *job.active, row, job.weights.edge,
                      lazy,    columns, own_pool, g,    share,       dual};
    loops.run(job.grad, job.grad_x);
  }
  return arena.used;
}

}  // namespace

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
template <class T>
std::size_t wide_backward(const EmpProblem<T>& problem, const WideBackward<T>& job, char* scratch) {
  return with_wide_row<T, Shape::ball>(problem.width, [&](const auto& row) {
    return wide_backward_rows(problem, job, row, scratch);
  });
}

}  // namespace elasticgnn::ISA_NAMESPACE
