// An order of the nodes in which neighbours are near one another: large tables then stay in the
// near caches.
#include <nanobind/nanobind.h>

#include "binding/call.h"
#include "graph/clusters.h"

namespace nb = nanobind;

namespace elasticgnn {

namespace {

void cluster_order(std::int64_t n, Address start, Address column, Address order) {
  const std::vector<Index> nodes =
      call(order_by_clusters, n, at<std::int64_t>(start), at<Index>(column));
  std::copy(nodes.begin(), nodes.end(), at<std::int64_t>(order));
}

}  // namespace

void bind_order(nb::module_& module) { module.def("cluster_order", &cluster_order); }

}  // namespace elasticgnn
