// The adjoint of an elastic step in gather form: each process computes its own rows, nothing is
// added across processes.
//   h = gZ - gamma w (G_i - G_j),  t = J'h,  gFb_i = beta s_i sum_p t_p,  B = s gFb,  H = G + B
//   gZ <- t - gamma w (B_i - B_j)
//   G_i <- s_i (own_factor_i H_i + smoothing s_i sum_p w_p H_j)
#include "halo_sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// h -> J'h of one edge, in place of `t`; the derivatives along lambda1 and (concave penalties)
// beta.
template <class T>
struct Derivatives {
  T lambda1 = 0, beta = 0;
};

template <Shape S, class T, class R>
HALO_INLINE Derivatives<T> apply_jacobian(const HaloSizes<T>& sizes, const R& row, const T* old,
                                          const T* own, const T* near, T* t) {
  using Vec = typename R::Vec;
  const auto ascended = [&](int v) {
    return row.load(old, v) + sizes.beta * (row.load(own, v) - row.load(near, v));
  };
  if constexpr (S == Shape::box) {
    const Vec radius = row.splat(sizes.lambda1);
    Vec clamped{};
    for (int v = 0; v < row.count(); ++v) {
      const Vec a = ascended(v), h = row.load(t, v);
      clamped += (a > radius ? h : Vec{}) - (a < -radius ? h : Vec{});
      row.store(t, v, (a > radius) | (a < -radius) | (radius <= Vec{}) ? Vec{} : h);
    }
    return {R::sum(clamped), T(0)};
  }
  Vec squares{}, products{};
  for (int v = 0; v < row.count(); ++v) {
    const Vec a = ascended(v);
    squares += a * a;
    products += a * row.load(t, v);
  }
  const T length = root(R::sum(squares));
  if (!(length > sizes.lambda1)) {
    // lambda1 = 0 maps every row to zero, a row of zeros too
    for (int v = 0; !(sizes.lambda1 > T(0)) && v < row.count(); ++v) row.store(t, v, Vec{});
    return {};
  }
  const Shrink<T, S> shrink{sizes};
  const T factor = shrink.factor(length), limit = shrink.limit(length), product = R::sum(products);
  const bool falling = S == Shape::fading && limit > T(0) && limit < sizes.lambda1;
  // the part along the row scales with the derivative of its new length, the part across with
  // factor
  const T correction = ((falling ? -sizes.slope : T(0)) - factor) * (product / (length * length));
  for (int v = 0; v < row.count(); ++v)
    row.store(t, v, factor * row.load(t, v) + correction * ascended(v));
  const T along = product / length;
  if (!falling) return {S == Shape::ball || limit > T(0) ? along : T(0), T(0)};
  return {sizes.start * along,
          (sizes.start_beta * sizes.lambda1 - sizes.slope_beta * length) * along};
}

// t <- t - gamma w_e (rows_i - rows_j)
template <class T, class R>
HALO_INLINE void subtract_flow(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const R& row,
                               const T* rows, std::int64_t i, std::int64_t e, T* t) {
  const std::int64_t j = graph.other[e];
  const T flow = sizes.gamma * (graph.weight == nullptr ? T(1) : graph.weight[e]);
  const T *own = rows + i * row.stride(), *near = rows + j * row.stride();
  for (int v = 0; v < row.count(); ++v)
    row.store(t, v, row.load(t, v) - flow * (row.load(own, v) - row.load(near, v)));
}

template <class R, class T>
struct NearRows {
  Ahead<R, T> g, predicted;
};

template <Shape S, class T, class R>
HALO_INLINE void adjoint_edges(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const R& row,
                               const HaloAdjoint<T>& a, const NearRows<R, T>& near_rows,
                               std::int64_t i) {
  const std::int64_t stride = row.stride();
  for (std::int64_t e = graph.lead[i]; e < graph.lead[i + 1]; ++e) {
    near_rows.g.fetch(e);
    near_rows.predicted.fetch(e);
    const std::int64_t j = graph.other[e];
    T* t = a.dual_grad + e * stride;
    subtract_flow(graph, sizes, row, a.g, i, e, t);
    const T *own = a.predicted + i * stride, *near = a.predicted + j * stride;
    const Derivatives<T> found =
        apply_jacobian<S>(sizes, row, a.dual_in + e * stride, own, near, t);
    if (a.edge_lambda == nullptr) continue;
    typename R::Vec step{};
    for (int v = 0; v < row.count(); ++v)
      step += row.load(t, v) * (row.load(own, v) - row.load(near, v));
    a.edge_lambda[e] += double(found.lambda1);
    a.edge_beta[e] += double(found.beta) + double(R::sum(step));
  }
}

template <class T, class R>
HALO_INLINE void finish_turn(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const R& row,
                             const HaloAdjoint<T>& a, const Ahead<R, T>& duals, std::int64_t i) {
  using Vec = typename R::Vec;
  const std::int64_t stride = row.stride(), first = graph.lead[i];
  const T reach = sizes.beta * (graph.scale[i] * graph.scale[i]);
  const auto add = [&](Vec* sum, int count, int piece, std::int64_t p) {
    if (piece == 0) duals.fetch(p);
    const std::int64_t e = graph.edge[p];
    const T sign = sign_of<T>(e, first);
    for (int v = 0; v < count; ++v) sum[v] += sign * row.load(a.dual_grad + e * stride, piece + v);
  };
  T* total = a.total + i * stride;
  sum_slots(graph, row, i, add, [&](int v, Vec sum) {
    const Vec b = reach * sum;
    const Vec h = row.load(a.g + i * stride, v) + b;
    row.store(a.b + i * stride, v, b);
    row.store(a.h + i * stride, v, h);
    row.store(total, v, row.load(total, v) + h);
  });
}

template <Shape S, class T, class R>
void adjoint_all(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const HaloPass& pass,
                 const R& row, const HaloAdjoint<T>& a) {
  const std::int64_t edges = graph.lead[pass.end];
  const NearRows<R, T> near_rows{{row, a.g, graph.other, edges},
                                 {row, a.predicted, graph.other, edges}};
  const Ahead<R, T> duals{row, a.dual_grad, graph.edge, graph.start[pass.end]};
  lead_and_finish(
      graph, pass, [&](std::int64_t i) { adjoint_edges<S>(graph, sizes, row, a, near_rows, i); },
      [&](std::int64_t i) { finish_turn(graph, sizes, row, a, duals, i); });
}

template <class T, class R>
HALO_INLINE void correct_dual(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const R& row,
                              const HaloAdjoint<T>& a, const Ahead<R, T>& near_rows,
                              std::int64_t i) {
  for (std::int64_t e = graph.lead[i]; e < graph.lead[i + 1]; ++e) {
    near_rows.fetch(e);
    subtract_flow(graph, sizes, row, a.b, i, e, a.dual_grad + e * row.stride());
  }
}

}  // namespace

template <class T>
void halo_adjoint_step(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const HaloPass& pass,
                       const HaloAdjoint<T>& a) {
  with_halo_row<T>(pass.width, [&](const auto& row) {
    with_shape(sizes.shape, [&](auto shape) {
      adjoint_all<decltype(shape)::value>(graph, sizes, pass, row, a);
    });
  });
}

template <class T>
void halo_correct_dual(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const HaloPass& pass,
                       const HaloAdjoint<T>& a) {
  with_halo_row<T>(pass.width, [&](const auto& row) {
    using R = std::decay_t<decltype(row)>;
    const Ahead<R, T> near_rows{row, a.b, graph.other, graph.lead[pass.end]};
    each_node(pass, [&](std::int64_t i) { correct_dual(graph, sizes, row, a, near_rows, i); });
  });
}

HALO_INSTANTIATE(halo_adjoint_step, HaloAdjoint)
HALO_INSTANTIATE(halo_correct_dual, HaloAdjoint)

}  // namespace elasticgnn::ISA_NAMESPACE
