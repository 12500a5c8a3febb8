// Edges and slots of a graph; elasticgnn.graph.merge and .slots state the same in plain torch, and
// have checked the node numbers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include <array>

#include "binding/call.h"
#include "graph/merging.h"

namespace nb = nanobind;

namespace elasticgnn {

namespace {

// How many edges and how many self-loops there are, and whether each edge has one column in each
// direction.
std::array<std::int64_t, 3> merge(std::int64_t n, std::int64_t count, std::array<Address, 2> ends,
                                  std::array<Address, 5> out) {
  const Columns columns{n, count, at<std::int64_t>(ends[0]), at<std::int64_t>(ends[1])};
  const MergeCounts found =
      call(merge_columns, columns,
           MergedEdges{at<std::int64_t>(out[0]), at<std::int64_t>(out[1]), at<double>(out[2]),
                       at<double>(out[3]), at<std::int64_t>(out[4])});
  return {found.edges, found.loops, found.is_simple};
}

void slots(std::int64_t n, std::int64_t m, std::array<Address, 2> ends,
           std::array<Address, 3> out) {
  call(fill_slots, n, m, at<std::int64_t>(ends[0]), at<std::int64_t>(ends[1]),
       SlotTables{at<std::int64_t>(out[0]), at<std::int32_t>(out[1]), at<std::int32_t>(out[2])});
}

}  // namespace

void bind_merging(nb::module_& module) {
  module.def("merge_columns", &merge);
  module.def("fill_slots", &slots);
}

}  // namespace elasticgnn
