// The sweeps of one elastic step (emp.h names them), and the loop over the steps.
#pragma once

#include "emp_rows.h"

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

  // Rows far ahead are asked for early: the gathers of a large graph miss every cache.
  ELASTICGNN_INLINE void fetch(const T* table, std::int64_t index) const {
    const char* line = reinterpret_cast<const char*>(table + index * row);
    const std::int64_t bytes = row * std::int64_t(sizeof(T));
    for (std::int64_t b = 0; b < bytes && b < 512; b += 64) __builtin_prefetch(line + b);
  }
  static constexpr int kAhead = 8;

  // total[v] = sum of w_p * table row of column p, for the slots of node i
  ELASTICGNN_INLINE void gather(const T* table, std::int64_t i, Bag<R>& total) {
    const std::int64_t end = problem.start[i + 1], last = 2 * problem.num_edges - 1;
    for (int v = 0; v < rows.count(); ++v) total[v] = Vec{};
    for (std::int64_t p = problem.start[i]; p < end; ++p) {
      if (row >= 12) fetch(table, problem.column[p + kAhead < last ? p + kAhead : last]);
      const T* other = table + problem.column[p] * row;
      if (plan.slot_weight) {
        const Vec w = P::splat(plan.slot_weight[p]);
        for (int v = 0; v < rows.count(); ++v) total[v] += w * rows.load(other, v);
      } else {
        for (int v = 0; v < rows.count(); ++v) total[v] += rows.load(other, v);
      }
    }
  }

  // A; without a dual its result is already the next U (and the last F).
  void smooth(std::int64_t low, std::int64_t high, const T* u, const T* q, T* ub, T* out) {
    const Sizes<R> sizes(rows, problem);
    Bag<R> total(pool, 0);
    for (std::int64_t i = low; i < high; ++i) {
      gather(u, i, total);
      const T s = problem.scale[i];
      const Vec share = sizes.gamma * s, back = sizes.gamma * (s * s), in = sizes.pull * (s * s);
      const Vec own = 1 - sizes.gamma - in * plan.total(i);
      for (int v = 0; v < rows.count(); ++v) {
        Vec value = share * rows.load(problem.x + i * row, v) + own * rows.load(u + i * row, v) +
                    in * total[v];
        if (q) value -= back * rows.load(q + i * row, v);
        if (out) rows.store(out + i * row, v, value / s);
        else rows.store(ub + i * row, v, value);
      }
    }
  }

  // B1 for the edges that start in [low, high), and their part of Q.
  void ascend(std::int64_t low, std::int64_t high, const T* ub, const T* from, T* to, T* half) {
    const Sizes<R> sizes(rows, problem);
    Bag<R> own(pool, 0), sum(pool, 1), z(pool, 2);
    const std::int64_t last = 2 * problem.num_edges - 1;
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v) own[v] = rows.load(ub + i * row, v), sum[v] = Vec{};
      std::int64_t e = plan.first_edge[i];
      for (std::int64_t p = plan.middle(i); p < problem.start[i + 1]; ++p, ++e) {
        if (row >= 12) fetch(ub, problem.column[p + kAhead < last ? p + kAhead : last]);
        const T* other = ub + problem.column[p] * row;
        Vec squares{};
        for (int v = 0; v < rows.count(); ++v) {
          const Vec step = sizes.beta * (own[v] - rows.load(other, v));
          z[v] = from ? rows.load(from + e * row, v) + step : step;
          if constexpr (S != Shape::box) squares += z[v] * z[v];
        }
        const Vec w = P::splat(plan.slot_weight ? plan.slot_weight[p] : T(1));
        if constexpr (S == Shape::box) {
          for (int v = 0; v < rows.count(); ++v) z[v] = Proj::clamp(sizes, rows, z[v]);
        } else {
          const Vec factor = rows.spread(Proj::factor(sizes, Proj::length(rows, squares)));
          for (int v = 0; v < rows.count(); ++v) z[v] *= factor;
        }
        for (int v = 0; v < rows.count(); ++v) {
          rows.store(to + e * row, v, z[v]);
          sum[v] += w * z[v];
        }
      }
      for (int v = 0; v < rows.count(); ++v) rows.store(half + i * row, v, sum[v]);
    }
  }

  // sum[v] = half of node i minus the weighted dual rows of the edges that end at i
  ELASTICGNN_INLINE void finish(const T* dual, const T* half, std::int64_t i, Bag<R>& sum) {
    for (int v = 0; v < rows.count(); ++v) sum[v] = rows.load(half + i * row, v);
    const std::int64_t end = plan.middle(i), last = 2 * problem.num_edges - 1;
    for (std::int64_t p = problem.start[i]; p < end; ++p) {
      if (row >= 12) fetch(dual, problem.edge[p + kAhead < last ? p + kAhead : last]);
      const T* z = dual + problem.edge[p] * row;
      const Vec w = P::splat(plan.slot_weight ? plan.slot_weight[p] : T(1));
      for (int v = 0; v < rows.count(); ++v) sum[v] -= w * rows.load(z, v);
    }
  }

  // B2
  void settle(std::int64_t low, std::int64_t high, const T* dual, const T* half, const T* ub,
              const T* q_old, T* q_new, T* u, T* out) {
    const Sizes<R> sizes(rows, problem);
    Bag<R> sum(pool, 0);
    for (std::int64_t i = low; i < high; ++i) {
      finish(dual, half, i, sum);
      const T s = problem.scale[i];
      const Vec back = sizes.gamma * (s * s);
      for (int v = 0; v < rows.count(); ++v) {
        const Vec before = q_old ? rows.load(q_old + i * row, v) : Vec{};
        const Vec value = rows.load(ub + i * row, v) - back * (sum[v] - before);
        rows.store(q_new + i * row, v, sum[v]);
        if (out) rows.store(out + i * row, v, value / s);
        if (u) rows.store(u + i * row, v, value);
      }
    }
  }

  // Q of a given dual, in the order of additions that `ascend` and `settle` use.
  void weigh(std::int64_t low, std::int64_t high, const T* dual, T* half, T* q) {
    Bag<R> sum(pool, 0);
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v) sum[v] = Vec{};
      std::int64_t e = plan.first_edge[i];
      for (std::int64_t p = plan.middle(i); p < problem.start[i + 1]; ++p, ++e) {
        const Vec w = P::splat(plan.slot_weight ? plan.slot_weight[p] : T(1));
        for (int v = 0; v < rows.count(); ++v) sum[v] += w * rows.load(dual + e * row, v);
      }
      for (int v = 0; v < rows.count(); ++v) rows.store(half + i * row, v, sum[v]);
      finish(dual, half, i, sum);
      for (int v = 0; v < rows.count(); ++v) rows.store(q + i * row, v, sum[v]);
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

  // Steps first .. last - 1, called by every thread of a team; U (and Z, Q) of `first` are in place.
  // The dual of the last step goes to `spare` if that is given.
  void run(const States<T>& at, int first, int last, T* spare) {
    for (int k = first; k < last; ++k) {
      const T* q_old = at.dual[k] ? at.q(k) : nullptr;
      T* out = k + 1 == problem.steps ? at.out : nullptr;
      T* z = spare && k + 1 == last ? spare : const_cast<T*>(at.dual[k + 1]);
      sweep(plan.by_slot, [&](auto low, auto high) {
        smooth(low, high, at.u(k), q_old, at.ub(k), nullptr);
      });
      sweep(plan.by_tail, [&](auto low, auto high) {
        ascend(low, high, at.ub(k), at.dual[k], z, at.half);
      });
      sweep(plan.by_head, [&](auto low, auto high) {
        settle(low, high, z, at.half, at.ub(k), q_old, at.q(k + 1), out ? nullptr : at.u(k + 1),
               out);
      });
    }
  }

  // The same without a dual: U of step k + 1 is Ub of step k (u(k) and u(k + 1) must differ).
  void run_plain(T* even, T* odd, T* out, int steps) {
    for (int k = 0; k < steps; ++k)
      sweep(plan.by_slot, [&](auto low, auto high) {
        smooth(low, high, k % 2 ? odd : even, nullptr, k % 2 ? even : odd,
               k + 1 == steps ? out : nullptr);
      });
  }

  // U = s F, by every thread of a team
  void scale_rows(const T* signal, T* u) {
    for_blocks(plan.by_slot, [&](int, std::int64_t low, std::int64_t high) {
      for (std::int64_t i = low; i < high; ++i)
        for (std::int64_t c = 0; c < row; ++c) u[i * row + c] = problem.scale[i] * signal[i * row + c];
    });
#pragma omp barrier
  }
};

}  // namespace elasticgnn::ISA_NAMESPACE
