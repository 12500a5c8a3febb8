// An order of the nodes in which neighbours are near one another: large tables then stay in the near caches.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace nb = nanobind;

namespace elasticgnn {

namespace {

using Address = std::uintptr_t;

// Each node takes the label that most of its neighbours have, `sweeps` times over all nodes.
std::vector<std::int32_t> propagate_labels(std::int64_t n, const std::int64_t* start, const std::int32_t* column,
                                           int sweeps) {
  std::vector<std::int32_t> label(n), count(n, 0);
  std::iota(label.begin(), label.end(), 0);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::int32_t best = label[i], most = 0;
      for (std::int64_t p = start[i]; p < start[i + 1]; ++p) {
        const std::int32_t other = label[column[p]];
        if (++count[other] > most) most = count[other], best = other;
      }
      for (std::int64_t p = start[i]; p < start[i + 1]; ++p) count[label[column[p]]] = 0;
      label[i] = best;
    }
  }
  return label;
}

// Nodes by label, then falling degree (the length of the loops over neighbours changes seldom).
void cluster_order(std::int64_t n, Address start_at, Address column_at, Address order_at) {
  const auto* start = reinterpret_cast<const std::int64_t*>(start_at);
  const auto* column = reinterpret_cast<const std::int32_t*>(column_at);
  auto* order = reinterpret_cast<std::int64_t*>(order_at);
  nb::gil_scoped_release release;
  const std::vector<std::int32_t> label = propagate_labels(n, start, column, 6);
  const auto degree = [=](std::int64_t i) { return start[i + 1] - start[i]; };
  std::iota(order, order + n, 0);
  std::stable_sort(order, order + n, [&](std::int64_t a, std::int64_t b) {
    return label[a] != label[b] ? label[a] < label[b] : degree(a) > degree(b);
  });
}

}  // namespace

void bind_order(nb::module_& module) { module.def("cluster_order", &cluster_order); }

}  // namespace elasticgnn
