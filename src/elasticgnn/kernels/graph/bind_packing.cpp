// The tables of the packed loops, for elasticgnn.graph.packing: first the order, then, when their
// size is known, the slots.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include <array>

#include "binding/call.h"
#include "graph/packing.h"

namespace nb = nanobind;

namespace elasticgnn {

namespace {

using Given = std::array<Address, 4>;  // start, column, edge, order
using Order = std::array<Address, 6>;  // order, share, group, part, chunk, chunk_share

PackingInput input_of(std::int64_t n, std::int64_t rows, const Given& given) {
  return {n,
          rows,
          at<std::int64_t>(given[0]),
          at<std::int32_t>(given[1]),
          at<std::int32_t>(given[2]),
          at<std::int64_t>(given[3])};
}

PackedOrder order_of(const Order& out) {
  return {at<std::int32_t>(out[0]), at<std::int32_t>(out[1]), at<std::int32_t>(out[2]),
          at<std::int32_t>(out[3]), at<std::int32_t>(out[4]), at<std::int32_t>(out[5])};
}

// How many registers and how many chunks there are.
std::array<std::int64_t, 2> order(std::int64_t n, std::int64_t rows, const Given& given,
                                  std::array<std::int64_t, 2> limits, const Order& out) {
  const PackingCounts found = call(order_packed, input_of(n, rows, given),
                                   PackingLimits{limits[0], limits[1]}, order_of(out));
  return {found.registers, found.chunks};
}

void fill(std::int64_t n, std::int64_t rows, const Given& given, const Order& nodes,
          std::int64_t floats, std::array<Address, 3> out) {
  call(fill_packed, input_of(n, rows, given), order_of(nodes), floats,
       PackedSlots{at<std::int32_t>(out[0]), at<std::int32_t>(out[1]), at<std::int32_t>(out[2])});
}

}  // namespace

void bind_packing(nb::module_& module) {
  module.def("order_packed", &order);
  module.def("fill_packed", &fill);
}

}  // namespace elasticgnn
