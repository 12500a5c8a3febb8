// The two sweeps of an elastic step on one process's rows; docs/scale.md has the formulas. Nothing
// here allocates or throws.
#include "halo_sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// y = gamma x + own_factor u + smoothing s sum_p w_p u_j
template <class T, class R>
HALO_INLINE void smooth_node(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const R& row,
                             const HaloForward<T>& a, const Ahead<R, T>& near_rows,
                             std::int64_t i) {
  using Vec = typename R::Vec;
  const std::int64_t stride = row.stride();
  const T scale = graph.scale[i], own_factor = graph.own_factor[i], reach = sizes.smoothing * scale,
          damp = sizes.gamma * scale;
  const auto add = [&](Vec* sum, int count, int piece, std::int64_t p) {
    if (piece == 0) near_rows.fetch(p);
    const T* near = a.u + graph.column[p] * stride;
    if (graph.weight == nullptr) {
      for (int v = 0; v < count; ++v) sum[v] += row.load(near, piece + v);
    } else {
      const Vec weight = row.splat(graph.weight[graph.edge[p]]);
      for (int v = 0; v < count; ++v) sum[v] += weight * row.load(near, piece + v);
    }
  };
  sum_slots(graph, row, i, add, [&](int v, Vec sum) {
    Vec y = own_factor * row.load(a.u + i * stride, v);
    y += reach * sum;
    if (a.x != nullptr) y += sizes.gamma * row.load(a.x + i * stride, v);
    if (a.y != nullptr) row.store(a.y + i * stride, v, y);
    if (a.q != nullptr) y -= damp * row.load(a.q + i * stride, v);
    row.store(a.predicted + i * stride, v, scale * y);
  });
}

// dual <- project(dual + beta (u_i - u_j)) for the edges that node i leads.
template <Shape S, class T, class R>
HALO_INLINE void ascend_edges(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const R& row,
                              const HaloForward<T>& a, const Ahead<R, T>& near_rows,
                              std::int64_t i) {
  using Vec = typename R::Vec;
  const std::int64_t stride = row.stride();
  const T* own = a.predicted + i * stride;
  const Shrink<T, S> shrink{sizes};
  for (std::int64_t e = graph.lead[i]; e < graph.lead[i + 1]; ++e) {
    near_rows.fetch(e);
    const T *near = a.predicted + graph.other[e] * stride, *old = a.dual_in + e * stride;
    T* out = a.dual_out + e * stride;
    Vec squares{};
    for (int v = 0; v < row.count(); ++v) {
      Vec z = row.load(old, v) + sizes.beta * (row.load(own, v) - row.load(near, v));
      if constexpr (S == Shape::box) {
        const Vec radius = row.splat(sizes.lambda1);
        z = z > radius ? radius : z;
        z = z < -radius ? -radius : z;
      }
      squares += z * z;
      row.store(out, v, z);
    }
    if constexpr (S == Shape::box) continue;
    const T factor = shrink.factor(root(R::sum(squares)));
    for (int v = 0; v < row.count(); ++v) row.store(out, v, factor * row.load(out, v));
  }
}

// q = sum of the node's dual rows, away from it; u = s (y - gamma s q).
template <class T, class R>
HALO_INLINE void finish_node(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const R& row,
                             const HaloForward<T>& a, const Ahead<R, T>& duals, std::int64_t i) {
  using Vec = typename R::Vec;
  const std::int64_t stride = row.stride(), first = graph.lead[i];
  const T scale = graph.scale[i], damp = sizes.gamma * scale;
  const auto add = [&](Vec* sum, int count, int piece, std::int64_t p) {
    if (piece == 0) duals.fetch(p);
    const std::int64_t e = graph.edge[p];
    const T* dual = a.dual_out + e * stride;
    T weight = sign_of<T>(e, first);
    if (graph.weight != nullptr) weight *= graph.weight[e];
    for (int v = 0; v < count; ++v) sum[v] += weight * row.load(dual, piece + v);
  };
  sum_slots(graph, row, i, add, [&](int v, Vec sum) {
    const Vec f = row.load(a.y + i * stride, v) - damp * sum;
    row.store(a.q_out + i * stride, v, sum);
    row.store(a.u + i * stride, v, scale * f);
    if (a.f_out != nullptr) row.store(a.f_out + i * stride, v, f);
  });
}

template <Shape S, class T, class R>
void ascend_all(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const HaloPass& pass,
                const R& row, const HaloForward<T>& a) {
  const Ahead<R, T> near_rows{row, a.predicted, graph.other, graph.lead[pass.end]},
      duals{row, a.dual_out, graph.edge, graph.start[pass.end]};
  lead_and_finish(
      graph, pass, [&](std::int64_t i) { ascend_edges<S>(graph, sizes, row, a, near_rows, i); },
      [&](std::int64_t i) { finish_node(graph, sizes, row, a, duals, i); });
}

}  // namespace

template <class T>
void halo_smooth(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const HaloPass& pass,
                 const HaloForward<T>& a) {
  with_halo_row<T>(pass.width, [&](const auto& row) {
    using R = std::decay_t<decltype(row)>;
    const Ahead<R, T> near_rows{row, a.u, graph.column, graph.start[pass.end]};
    each_node(pass, [&](std::int64_t i) { smooth_node(graph, sizes, row, a, near_rows, i); });
  });
}

template <class T>
void halo_ascend(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const HaloPass& pass,
                 const HaloForward<T>& a) {
  with_halo_row<T>(pass.width, [&](const auto& row) {
    with_shape(sizes.shape,
               [&](auto shape) { ascend_all<decltype(shape)::value>(graph, sizes, pass, row, a); });
  });
}

HALO_INSTANTIATE(halo_smooth, HaloForward)
HALO_INSTANTIATE(halo_ascend, HaloForward)

}  // namespace elasticgnn::ISA_NAMESPACE
