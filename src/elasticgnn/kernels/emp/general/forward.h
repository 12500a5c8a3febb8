// The sweeps of one elastic step (emp/problem.h names them), and the loop over the steps.
#pragma once

#include "emp/general/rows.h"
#include "threads/steps.h"

namespace elasticgnn::ISA_NAMESPACE {

// Buffers of the steps: U, Ub, Q of step k at base + k * stride, Z of step k at dual[k].
template <class T>
struct States {
  T *signal, *ahead, *pile;
  std::int64_t signal_stride, ahead_stride, pile_stride;
  T* half;               // (n, row): sums over the edges that start at a node
  const T* const* dual;  // pointers of steps 0 .. K; a null stands for Z = 0
  T* out;                // where F of the last step goes, or null

  T* u(int k) const { return signal + k * signal_stride; }
  T* ub(int k) const { return ahead + k * ahead_stride; }
  T* q(int k) const { return pile + k * pile_stride; }
};

template <class T, int L, int Count, bool Runs, Shape S>
struct Forward {
  using R = Rows<T, L, Count, Runs>;
  using P = typename R::P;
  using Vec = typename R::Vec;
  using Proj = Projection<S, R>;

  const Plan<T>& plan;
  const EmpProblem<T>& problem = *plan.problem;
  const std::int64_t row = plan.row();
  R rows{problem.runs, problem.width};
  Vec* pool;
  Steps steps{problem.interrupt};

  // total[v] = sum of w_p * table row index[p] for first <= p < end
  static ELASTICGNN_INLINE void gather(const Tables<T>& g, const R& rows, const T* table,
                                       const std::int32_t* index, bool far, std::int64_t first,
                                       std::int64_t end, RowBuffer<R>& total) {
    const std::int64_t stride = rows.stride();
    if (g.slot_weight) {
      for (std::int64_t p = first; p < end; ++p) {
        if (far) g.fetch(table, index, p, stride);
        const Vec w = P::splat(g.slot_weight[p]);
        for (int v = 0; v < rows.count(); ++v)
          total[v] += w * rows.load(table + index[p] * stride, v);
      }
    } else if (far) {
      for (std::int64_t p = first; p < end; ++p) {
        g.fetch(table, index, p, stride);
        for (int v = 0; v < rows.count(); ++v) total[v] += rows.load(table + index[p] * stride, v);
      }
    } else {
      std::int64_t p = first;
      for (; p + 1 < end; p += 2)  // two rows in flight
        for (int v = 0; v < rows.count(); ++v)
          total[v] +=
              rows.load(table + index[p] * stride, v) + rows.load(table + index[p + 1] * stride, v);
      if (p < end)
        for (int v = 0; v < rows.count(); ++v) total[v] += rows.load(table + index[p] * stride, v);
    }
  }

  // A; without a dual its result is already the next U (and the last F).
  void smooth(std::int64_t low, std::int64_t high, const T* u, const T* q, T* ub, T* out) {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const Tables<T> g(plan);
    const std::int64_t stride = rows.stride();
    RowBuffer<R> total(pool, 0);
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v) total[v] = Vec{};
      gather(g, rows, u, g.column, g.far_nodes, g.start[i], g.start[i + 1], total);
      const T s = g.scale[i];
      const Vec share = sizes.gamma * s, back = sizes.gamma * (s * s),
                in = sizes.smoothing * (s * s);
      const Vec own = 1 - sizes.gamma - in * g.total(i);
      const std::int64_t at = i * stride;
      for (int v = 0; v < rows.count(); ++v) {
        Vec value = share * rows.load(g.x + at, v) + own * rows.load(u + at, v) + in * total[v];
        if (q) value -= back * rows.load(q + at, v);
        if (out) rows.store(out + at, v, value / s);
        else rows.store(ub + at, v, value);
      }
    }
  }

  static ELASTICGNN_INLINE void project(const Sizes<R>& sizes, const R& rows, Vec squares,
                                        RowBuffer<R>& z) {
    if constexpr (S == Shape::box) {
      for (int v = 0; v < rows.count(); ++v) z[v] = Proj::clamp(sizes, rows, z[v]);
    } else {
      const Vec factor = Proj::shrink(sizes, rows, squares);
      for (int v = 0; v < rows.count(); ++v) z[v] *= factor;
    }
  }

  // B1 for the edges that start in [low, high); done(sizes, tables, rows, i, sum) takes their part
  // of Q of node i.
  template <class Done>
  ELASTICGNN_INLINE void ascend(std::int64_t low, std::int64_t high, const T* ub, const T* from,
                                T* to, const Done& done) {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const Tables<T> g(plan);
    const std::int64_t stride = rows.stride();
    RowBuffer<R> own(pool, 0), sum(pool, 1), z(pool, 2);
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v) own[v] = rows.load(ub + i * stride, v), sum[v] = Vec{};
      std::int64_t e = g.first_edge[i];
      const std::int64_t end = g.start[i + 1];
      for (std::int64_t p = g.middle(i); p < end; ++p, ++e) {
        if (g.far_nodes) g.fetch(ub, g.column, p, stride);
        const T* other = ub + g.column[p] * stride;
        Vec squares{}, odd{};
        for (int v = 0; v < rows.count(); ++v) {
          const Vec step = sizes.beta * (own[v] - rows.load(other, v));
          z[v] = from ? rows.load(from + e * stride, v) + step : step;
          if constexpr (S == Shape::box) continue;
          if (Runs && v % 2)
            odd += z[v] * z[v];  // two sums: an addition waits for the one before it
          else squares += z[v] * z[v];
        }
        if constexpr (Runs) squares += odd;
        project(sizes, rows, squares, z);
        for (int v = 0; v < rows.count(); ++v) rows.store(to + e * stride, v, z[v]);
        if (g.slot_weight) {
          const Vec w = P::splat(g.slot_weight[p]);
          for (int v = 0; v < rows.count(); ++v) sum[v] += w * z[v];
        } else {
          for (int v = 0; v < rows.count(); ++v) sum[v] += z[v];
        }
      }
      done(sizes, g, rows, i, sum);
    }
  }

  // sum[v] -= the weighted dual rows of the edges that end at i
  static ELASTICGNN_INLINE void finish(const Tables<T>& g, const R& rows, const T* dual,
                                       std::int64_t i, RowBuffer<R>& sum, RowBuffer<R>& ending) {
    for (int v = 0; v < rows.count(); ++v) ending[v] = Vec{};
    gather(g, rows, dual, g.edge, g.far_edges, g.start[i], g.middle(i), ending);
    for (int v = 0; v < rows.count(); ++v) sum[v] -= ending[v];
  }

  // What B2 reads and writes in a step.
  struct Settling {
    const T *dual, *ub, *q_old;
    T *q_new, *u, *out;
  };

  // B2 of node i, whose new Q is `sum` already.
  static ELASTICGNN_INLINE void settle_node(const Sizes<R>& sizes, const Tables<T>& g,
                                            const R& rows, const Settling& to, std::int64_t i,
                                            RowBuffer<R>& sum) {
    const T s = g.scale[i];
    const Vec back = sizes.gamma * (s * s);
    const std::int64_t at = i * rows.stride();
    const T *const ub = to.ub + at, *const q_old = to.q_old
                                                       ? to.q_old + at
                                                       : nullptr;  // loaded once, not per vector
    T *const q_new = to.q_new + at, *const end = (to.out ? to.out : to.u) + at;
    for (int v = 0; v < rows.count(); ++v) {
      Vec change = sum[v];
      if (q_old) change -= rows.load(q_old, v);
      const Vec value = rows.load(ub, v) - back * change;
      rows.store(q_new, v, sum[v]);
      if (to.out) rows.store(end, v, value / s);
      else rows.store(end, v, value);
    }
  }

  // B2 of the nodes that are not settled yet, with the edges that start there in `half`.
  void settle(std::int64_t low, std::int64_t high, const T* half, const Settling& to) {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const Tables<T> g(plan);
    const int threads = omp_get_num_threads();
    RowBuffer<R> sum(pool, 0), ending(pool, 1);
    for (std::int64_t i = low, owner = 0; i < high; ++i) {
      while (owner + 1 < threads && i >= first_node(plan.by_tail, threads, owner + 1)) ++owner;
      if (plan.is_local && g.starts_within(i, first_node(plan.by_tail, threads, owner))) continue;
      for (int v = 0; v < rows.count(); ++v) sum[v] = rows.load(half + i * rows.stride(), v);
      finish(g, rows, to.dual, i, sum, ending);
      settle_node(sizes, g, rows, to, i, sum);
    }
  }

  // B1 and B2 from the dual `from` on. Where a thread has done all edges that end at a node when it
  // comes to it, it does both at once: one thread alone everywhere, several on local graphs nearly
  // everywhere.
  void move_dual(const T* from, const Settling& to, T* half) {
    T* const dual = const_cast<T*>(to.dual);
    const int threads = omp_get_num_threads();
    const std::int64_t first = first_node(plan.by_tail, threads, omp_get_thread_num());
    const auto ascend_all = [&](auto alone) ELASTICGNN_INLINE_LAMBDA {
      for_blocks(plan.by_tail, [&](int, std::int64_t low, std::int64_t high) {
        RowBuffer<R> ending(pool, 3);
        const auto done = [&](auto& sizes, auto& g, auto& rows, auto i, auto& sum)
                              ELASTICGNN_INLINE_LAMBDA {
                                if (alone || (plan.is_local && g.starts_within(i, first))) {
                                  finish(g, rows, to.dual, i, sum, ending);
                                  settle_node(sizes, g, rows, to, i, sum);
                                } else {
                                  for (int v = 0; v < rows.count(); ++v)
                                    rows.store(half + i * rows.stride(), v, sum[v]);
                                }
                              };
        for (int group = 0; group < rows.groups(); ++group) {
          rows.select(group);
          ascend(low, high, to.ub, from, dual, done);
        }
      });
    };
    if (threads == 1) return ascend_all(std::true_type{});
    ascend_all(std::false_type{});
#pragma omp barrier
    sweep(plan.by_head, [&](auto low, auto high) { settle(low, high, half, to); });
  }

  // Q of a given dual, in the order of additions that `ascend` and `settle` use.
  void weigh(std::int64_t low, std::int64_t high, const T* dual, T* q) {
    const R rows = this->rows;
    const Tables<T> g(plan);
    const std::int64_t stride = rows.stride();
    RowBuffer<R> sum(pool, 0), ending(pool, 1);
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v) sum[v] = Vec{};
      std::int64_t e = g.first_edge[i];
      for (std::int64_t p = g.middle(i); p < g.start[i + 1]; ++p, ++e) {
        const Vec w = P::splat(g.weight(p));
        for (int v = 0; v < rows.count(); ++v) sum[v] += w * rows.load(dual + e * stride, v);
      }
      finish(g, rows, dual, i, sum, ending);
      for (int v = 0; v < rows.count(); ++v) rows.store(q + i * stride, v, sum[v]);
    }
  }

  template <class Body>
  ELASTICGNN_INLINE void sweep(const Blocks& blocks, const Body& body) {
    for_blocks(blocks, [&](int, std::int64_t low, std::int64_t high) {
      for (int group = 0; group < rows.groups(); ++group) {
        rows.select(group);
        body(low, high);
      }
    });
#pragma omp barrier
  }

  // Steps first .. last - 1, called by every thread of a team; U (and Z, Q) of `first` are in
  // place. The dual of the last step goes to `spare` if that is given.
  void run(const States<T>& at, int first, int last, T* spare) {
    for (int k = first; k < last && steps.next(); ++k) {
      const T* q_old = at.dual[k] ? at.q(k) : nullptr;
      T* out = k + 1 == problem.steps ? at.out : nullptr;
      const T* z = spare && k + 1 == last ? spare : at.dual[k + 1];
      sweep(plan.by_slot,
            [&](auto low, auto high) { smooth(low, high, at.u(k), q_old, at.ub(k), nullptr); });
      move_dual(at.dual[k], {z, at.ub(k), q_old, at.q(k + 1), out ? nullptr : at.u(k + 1), out},
                at.half);
    }
  }

  // The same without a dual: U of step k + 1 is Ub of step k (u(k) and u(k + 1) must differ).
  void run_plain(T* even, T* odd, T* out, int count) {
    for (int k = 0; k < count && steps.next(); ++k)
      sweep(plan.by_slot, [&](auto low, auto high) {
        smooth(low, high, k % 2 ? odd : even, nullptr, k % 2 ? even : odd,
               k + 1 == count ? out : nullptr);
      });
  }

  // U = s F, by every thread of a team
  void scale_rows(const T* signal, T* u) {
    for_blocks(plan.by_slot, [&](int, std::int64_t low, std::int64_t high) {
      for (std::int64_t i = low; i < high; ++i) {
        const T s = problem.scale[i];
        const T* const from = signal + i * row;
        T* const to = u + i * row;
#pragma omp simd
        for (std::int64_t c = 0; c < row; ++c) to[c] = s * from[c];
      }
    });
#pragma omp barrier
  }
};

}  // namespace elasticgnn::ISA_NAMESPACE
