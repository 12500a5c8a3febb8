// The adjoint of one elastic step. With g the gradient of U after the step, t that of Z before it,
// and G = s^2 (g + gradient of the next step's Ub):
//   E   t_e <- J_e (t_e - gamma w (G_tail - G_head))          J: Jacobian of the projection
//   N1  bar_i = beta sum +-t_e,  v_i = g_i + bar_i,  grad X_i += gamma s v_i,  S_i = s^2 v_i
//   N2  g_i <- (1 - gamma) v_i + smoothing (sum_j w S_j - c_i S_i),  G_i <- s^2 (bar_i + g_i)
// J needs Z before the projection: it is recomputed edge by edge from the last checkpoint of Z
// and the rows Ub of the steps since then, so the dual is not saved step by step.
#pragma once

#include "emp/general/forward.h"

namespace elasticgnn::ISA_NAMESPACE {

enum Size { kLambda1 = 0, kGamma = 1, kBeta = 2, kSmoothing = 3 };

// Gradients beyond x: per edge, per node, and per run as one partial sum for each block.
template <class T>
struct Extras {
  T *weight, *scale;  // null: not wanted
  double* sizes;      // (kMaxBlocks, 4, runs), null: not wanted
  bool any() const { return weight || scale || sizes; }
};

template <class T, int L, int Count, bool Runs, Shape S>
struct Adjoint : Forward<T, L, Count, Runs, S> {
  using Base = Forward<T, L, Count, Runs, S>;
  using typename Base::P;
  using typename Base::Proj;
  using typename Base::R;
  using typename Base::Vec;
  using N = typename R::Number;
  using Base::plan, Base::problem, Base::row, Base::rows, Base::pool;

  Extras<T> extras;
  Adjoint(const Plan<T>& plan_, Vec* pool_, const Extras<T>& extras_)
      : Base{plan_, *plan_.problem, plan_.row(), R{plan_.problem->runs, plan_.problem->width},
             pool_},
        extras(extras_) {}

  ELASTICGNN_INLINE void add(int block, Size which, N value) {
    double* to = extras.sizes + (std::int64_t(block) * 4 + which) * problem.runs;
    if constexpr (Runs) {
      for (int lane = 0; lane < rows.tail; ++lane) to[rows.offset + lane] += double(value[lane]);
    } else {
      to[0] += double(value);
    }
  }

  // zb <- Z + beta (Ub_i - Ub_j) of step k, from Z of step `first`; returns the sum of its squares
  static ELASTICGNN_INLINE Vec replay(const Sizes<R>& sizes, const R& rows, std::int64_t row,
                                      const States<T>& at, int first, int k, std::int64_t i,
                                      std::int64_t j, std::int64_t e, RowBuffer<R>& zb) {
    const T* from = at.dual[first];
    for (int v = 0; v < rows.count(); ++v) zb[v] = from ? rows.load(from + e * row, v) : Vec{};
    for (int now = first;; ++now) {
      Vec squares{};
      const T *own = at.ub(now) + i * row, *other = at.ub(now) + j * row;
      for (int v = 0; v < rows.count(); ++v) {
        zb[v] += sizes.beta * (rows.load(own, v) - rows.load(other, v));
        if constexpr (S != Shape::box) squares += zb[v] * zb[v];
      }
      if (now == k) return squares;
      Base::project(sizes, rows, squares, zb);
    }
  }

  // h <- J h for a row zb of length `length`, and the gradients of lambda1 and beta in the map
  // itself; lambda1 = 0 maps every row to zero, a row of zeros too
  ELASTICGNN_INLINE void apply_jacobian(const Sizes<R>& sizes, N length, RowBuffer<R>& zb,
                                        RowBuffer<R>& h, int block) {
    const N zero{}, one = zero + T(1);
    const N limit = Proj::limit(sizes, length);
    const N inverse = one / larger(length, sizes.tiny);
    const N inside = sizes.lambda1 > zero ? one : zero;
    const N ratio = length > limit ? limit * inverse : inside;
    Vec products{};
    for (int v = 0; v < rows.count(); ++v) products += zb[v] * h[v];
    const N along = rows.fold(products) * inverse;  // <u, h>, u = zb / length
    N bend = -ratio, by_lambda = one, by_beta = zero;
    if constexpr (S == Shape::fading) {
      const N falling = sizes.start * sizes.lambda1 - sizes.slope * length;
      bend = falling < sizes.lambda1 ? (falling > zero ? -sizes.slope - ratio : -ratio) : -ratio;
      by_lambda = falling < sizes.lambda1 ? (falling > zero ? sizes.start : zero) : one;
      const N slide = sizes.start_beta * sizes.lambda1 - sizes.slope_beta * length;
      by_beta = falling < sizes.lambda1 ? (falling > zero ? slide : zero) : zero;
    }
    const Vec outward = rows.spread(length > limit ? bend * along * inverse : zero);
    const Vec inward = rows.spread(ratio);
    for (int v = 0; v < rows.count(); ++v) h[v] = inward * h[v] + outward * zb[v];
    if (extras.sizes) {
      add(block, kLambda1, length > limit ? along * by_lambda : zero);
      if constexpr (S == Shape::fading) add(block, kBeta, length > limit ? along * by_beta : zero);
    }
  }

  ELASTICGNN_INLINE void apply_mask(const Sizes<R>& sizes, RowBuffer<R>& zb, RowBuffer<R>& h,
                                    int block) {
    const Vec radius = rows.spread(sizes.lambda1);
    Vec slope{};
    for (int v = 0; v < rows.count(); ++v) {
      slope += zb[v] > radius ? h[v] : (zb[v] < -radius ? -h[v] : Vec{});
      h[v] = zb[v] > radius ? Vec{} : (zb[v] < -radius ? Vec{} : (radius > Vec{} ? h[v] : Vec{}));
    }
    if (extras.sizes) add(block, kLambda1, rows.fold(slope));
  }

  // E for the edges that start in [low, high), with J as jacobian(i, slot, e, own, h); `half` gets
  // their sums of t.
  template <class Jacobian>
  ELASTICGNN_INLINE void fall(std::int64_t low, std::int64_t high, const T* scaled_grad, bool fresh,
                              T* t, T* half, const Jacobian& jacobian) {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const Tables<T> g(plan);
    const std::int64_t row = rows.stride();
    RowBuffer<R> own(pool, 0), sum(pool, 1), h(pool, 3);
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v)
        own[v] = rows.load(scaled_grad + i * row, v), sum[v] = Vec{};
      std::int64_t e = g.first_edge[i];
      for (std::int64_t p = g.middle(i), end = g.start[i + 1]; p < end; ++p, ++e) {
        if (g.far_nodes) g.fetch(scaled_grad, g.column, p, row);
        const T* other = scaled_grad + g.column[p] * row;
        const Vec share = sizes.gamma * g.weight(p);
        for (int v = 0; v < rows.count(); ++v) {
          const Vec before = fresh ? Vec{} : rows.load(t + e * row, v);
          h[v] = before - share * (own[v] - rows.load(other, v));
        }
        jacobian(i, p, e, own, h);
        for (int v = 0; v < rows.count(); ++v) {
          rows.store(t + e * row, v, h[v]);
          sum[v] += h[v];
        }
      }
      for (int v = 0; v < rows.count(); ++v) rows.store(half + i * row, v, sum[v]);
    }
  }

  // E at step k, with Jacobians from replayed duals.
  void descend(int block, std::int64_t low, std::int64_t high, const States<T> at, int first, int k,
               const T* scaled_grad, bool fresh, T* t, T* half) {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const Tables<T> g(plan);
    const std::int64_t row = rows.stride();
    RowBuffer<R> zb(pool, 2);
    fall(low, high, scaled_grad, fresh, t, half,
         [&](auto i, auto p, auto e, RowBuffer<R>& own, RowBuffer<R>& h) {
           const std::int64_t j = g.column[p];
           for (int now = first; g.far_nodes && now <= k; ++now)
             g.fetch(at.ub(now), g.column, p, row);
           const Vec squares = replay(sizes, rows, row, at, first, k, i, j, e, zb);
           N length{};
           if constexpr (S != Shape::box) length = Proj::length(rows, squares);
           if (extras.weight) charge_weight(sizes, length, zb, own, scaled_grad + j * row, e);
           if constexpr (S == Shape::box) apply_mask(sizes, zb, h, block);
           else apply_jacobian(sizes, length, zb, h, block);
         });
  }

  // grad w_e -= gamma <Z_e after the step, G_tail - G_head>
  ELASTICGNN_INLINE void charge_weight(const Sizes<R>& sizes, N length, RowBuffer<R>& zb,
                                       RowBuffer<R>& own, const T* other, std::int64_t e) {
    Vec products{};
    Vec factor = P::splat(T(1));
    if constexpr (S != Shape::box) factor = rows.spread(Proj::factor(sizes, length));
    for (int v = 0; v < rows.count(); ++v) {
      const Vec z = S == Shape::box ? Proj::clamp(sizes, rows, zb[v]) : zb[v] * factor;
      products += z * (own[v] - rows.load(other, v));
    }
    extras.weight[e] -= P::sum(products * sizes.gamma);
  }

  // N1; `bar` holds the halves of `descend` and then bar, `grad_u` g and then v, `scaled_grad` G
  // and then S.
  void collect(int block, std::int64_t low, std::int64_t high, const States<T>& at, int k,
               const T* t, T* bar, T* grad_u, T* scaled_grad, T* grad_x) {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const Tables<T> g(plan);
    const std::int64_t row = rows.stride();
    RowBuffer<R> sum(pool, 0);
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v) sum[v] = rows.load(bar + i * row, v);
      for (std::int64_t p = g.start[i], end = g.middle(i); p < end; ++p) {
        if (g.far_edges) g.fetch(t, g.edge, p, row);
        const T* other = t + g.edge[p] * row;
        for (int v = 0; v < rows.count(); ++v) sum[v] -= rows.load(other, v);
      }
      if (extras.any()) charge_node(sizes, at, k, i, block, sum, grad_u, scaled_grad);
      const T s = g.scale[i];
      for (int v = 0; v < rows.count(); ++v) {
        const Vec add_up = sizes.beta * sum[v], value = rows.load(grad_u + i * row, v) + add_up;
        rows.store(bar + i * row, v, add_up);
        rows.store(grad_u + i * row, v, value);
        rows.store(scaled_grad + i * row, v, value * (s * s));
        const Vec x = rows.load(grad_x + i * row, v) + sizes.gamma * s * value;
        rows.store(grad_x + i * row, v, x);
      }
    }
  }

  // Gradients of gamma, beta and scale that node i contributes in N1.
  ELASTICGNN_INLINE void charge_node(const Sizes<R>& sizes, const States<T>& at, int k,
                                     std::int64_t i, int block, RowBuffer<R>& sum, const T* g,
                                     const T* scaled_grad) {
    const T s = problem.scale[i];
    Vec by_beta{}, by_gamma{}, by_share{}, by_change{}, by_pile{};
    for (int v = 0; v < rows.count(); ++v) {
      const Vec ub = rows.load(at.ub(k) + i * row, v), u = rows.load(at.u(k) + i * row, v);
      const Vec q = at.dual[k] ? rows.load(at.q(k) + i * row, v) : Vec{};
      const Vec value = rows.load(g + i * row, v) + sizes.beta * sum[v];
      const Vec x = rows.load(problem.x + i * row, v);
      by_beta += sum[v] * ub;
      by_gamma += value * (s * x - u);
      by_share += value * x;
      by_change +=
          value * (ub + sizes.gamma * (s * s) * q - sizes.gamma * s * x - (1 - sizes.gamma) * u);
      by_pile += rows.load(scaled_grad + i * row, v) * rows.load(at.q(k + 1) + i * row, v);
    }
    if (extras.sizes) {
      add(block, kBeta, rows.fold(by_beta));
      add(block, kGamma, rows.fold(by_gamma - by_pile));
    }
    if (extras.scale)
      extras.scale[i] +=
          P::sum(sizes.gamma * by_share + (by_change - sizes.gamma * by_pile) * (2 / s));
  }

  // N2; reads S, writes G over bar.
  void spread(int block, std::int64_t low, std::int64_t high, const States<T>& at, int k,
              const T* share_rows, T* grad_u, T* bar) {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const Tables<T> g(plan);
    const std::int64_t row = rows.stride();
    RowBuffer<R> total(pool, 0);
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v) total[v] = Vec{};
      Base::gather(g, rows, share_rows, g.column, g.far_nodes, g.start[i], g.start[i + 1], total);
      const T s = g.scale[i], c = g.total(i);
      Vec by_smoothing{};
      for (int v = 0; v < rows.count(); ++v) {
        const Vec change = total[v] - c * rows.load(share_rows + i * row, v);
        const Vec value =
            (1 - sizes.gamma) * rows.load(grad_u + i * row, v) + sizes.smoothing * change;
        if (extras.sizes) by_smoothing += change * rows.load(at.u(k) + i * row, v);
        rows.store(bar + i * row, v, (rows.load(bar + i * row, v) + value) * (s * s));
        rows.store(grad_u + i * row, v, value);
      }
      if (extras.sizes) add(block, kSmoothing, rows.fold(by_smoothing));
      if (extras.weight) charge_smoothing(sizes, at.u(k), share_rows, i);
    }
  }

  // grad w_e -= smoothing <S_i - S_j, U_i - U_j> for the edges that start at i
  void charge_smoothing(const Sizes<R>& sizes, const T* u, const T* share_rows, std::int64_t i) {
    const Tables<T> g(plan);
    std::int64_t e = g.first_edge[i];
    for (std::int64_t p = g.middle(i); p < g.start[i + 1]; ++p, ++e) {
      const std::int64_t j = g.column[p] * row, own = i * row;
      Vec products{};
      for (int v = 0; v < rows.count(); ++v)
        products += (rows.load(share_rows + own, v) - rows.load(share_rows + j, v)) *
                    (rows.load(u + own, v) - rows.load(u + j, v));
      extras.weight[e] -= P::sum(products * sizes.smoothing);
    }
  }

  // The adjoint of `run_plain`'s step: S_i <- s^2 ((1 - gamma) g_i + smoothing (sum w S_j - c
  // S_i)).
  void spread_plain(std::int64_t low, std::int64_t high, const T* from, T* to, T* grad_x) {
    const R rows = this->rows;
    const Sizes<R> sizes(rows, problem);
    const Tables<T> g(plan);
    RowBuffer<R> total(pool, 0);
    for (std::int64_t i = low; i < high; ++i) {
      for (int v = 0; v < rows.count(); ++v) total[v] = Vec{};
      Base::gather(g, rows, from, g.column, g.far_nodes, g.start[i], g.start[i + 1], total);
      const T s = g.scale[i], c = g.total(i);
      for (int v = 0; v < rows.count(); ++v) {
        const Vec own = rows.load(from + i * row, v);
        const Vec value =
            (1 - sizes.gamma) * own + sizes.smoothing * (s * s) * (total[v] - c * own);
        rows.store(to + i * row, v, value);
        rows.store(grad_x + i * row, v, rows.load(grad_x + i * row, v) + sizes.gamma / s * own);
      }
    }
  }
};

}  // namespace elasticgnn::ISA_NAMESPACE
