// What one step adds to the gradients of edge weights, scales and step sizes, from rows that are
// there already.
#include "halo_sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class T, class R>
HALO_INLINE double product(const R& row, const T* a, const T* b) {
  typename R::Vec sum{};
  for (int v = 0; v < row.count(); ++v) sum += row.load(a, v) * row.load(b, v);
  return double(R::sum(sum));
}

// <a, b_i - b_j>, and <a_i - a_j, b_i - b_j>
template <class T, class R>
HALO_INLINE double along(const R& row, const T* a, const T* own, const T* near) {
  typename R::Vec sum{};
  for (int v = 0; v < row.count(); ++v)
    sum += row.load(a, v) * (row.load(own, v) - row.load(near, v));
  return double(R::sum(sum));
}
template <class T, class R>
HALO_INLINE double apart(const R& row, const T* a, const T* a_near, const T* b, const T* b_near) {
  typename R::Vec sum{};
  for (int v = 0; v < row.count(); ++v)
    sum += (row.load(a, v) - row.load(a_near, v)) * (row.load(b, v) - row.load(b_near, v));
  return double(R::sum(sum));
}

template <class T, class R>
void weigh_edges(const HaloGraph<T>& graph, const R& row, const HaloStrengths<T>& a,
                 std::int64_t i) {
  const std::int64_t stride = row.stride(), own = i * stride;
  for (std::int64_t e = graph.lead[i]; e < graph.lead[i + 1]; ++e) {
    const std::int64_t near = graph.other[e] * stride;
    if (a.dual_in != nullptr)
      a.edge_flow[e] += along(row, a.dual_out + e * stride, a.g + own, a.g + near) +
                        along(row, a.dual_in + e * stride, a.b + own, a.b + near);
    a.edge_smoothing[e] += apart(row, a.u + own, a.u + near, a.h + own, a.h + near);
  }
}

// gs_i = ( -gamma <Q', G> - gamma <Q, B> + <Ub, B> / s^2
//          - smoothing sum_p w_p (<U_i, H_i - H_j> + <H_i, U_i - U_j>) ) / s, slot by slot.
template <class T, class R>
void weigh_node(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const R& row,
                const HaloStrengths<T>& a, std::int64_t i) {
  const std::int64_t stride = row.stride(), own = i * stride;
  const double scale = double(graph.scale[i]);
  double flow = 0, smoothed = 0;
  for (std::int64_t p = graph.start[i]; p < graph.start[i + 1]; ++p) {
    const std::int64_t e = graph.edge[p], near = graph.column[p] * stride;
    const double weight = graph.weight == nullptr ? 1.0 : double(graph.weight[e]);
    const double away = e < graph.lead[i] ? -weight : weight;
    if (a.dual_in != nullptr)
      flow += away * (product(row, a.dual_out + e * stride, a.g + own) +
                      product(row, a.dual_in + e * stride, a.b + own));
    smoothed += weight * (along(row, a.u + own, a.h + own, a.h + near) +
                          along(row, a.h + own, a.u + own, a.u + near));
  }
  double total = -double(sizes.gamma) * flow - double(sizes.smoothing) * smoothed;
  if (a.dual_in != nullptr) total += product(row, a.predicted + own, a.b + own) / (scale * scale);
  a.node_scale[i] += total / scale;
  a.node_gamma[i] +=
      (product(row, a.x + own, a.h + own) - product(row, a.u + own, a.h + own) / scale) / scale;
}

}  // namespace

template <class T>
void halo_strengths(const HaloGraph<T>& graph, const HaloSizes<T>& sizes, const HaloPass& pass,
                    const HaloStrengths<T>& a) {
  with_halo_row<T>(pass.width, [&](const auto& row) {
    each_node(pass, [&](std::int64_t i) {
      weigh_edges(graph, row, a, i);
      weigh_node(graph, sizes, row, a, i);
    });
  });
}

HALO_INSTANTIATE(halo_strengths, HaloStrengths)

}  // namespace elasticgnn::ISA_NAMESPACE
