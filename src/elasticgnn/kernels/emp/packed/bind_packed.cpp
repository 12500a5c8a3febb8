// Python's entrance to the packed loops (binding/call.h), for elasticgnn.operator.packed.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include <array>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "emp/packed/problem.h"

ELASTICGNN_DECLARE(int packed_lanes(std::int64_t width);
                   std::size_t packed_forward(const PackedProblem&, const PackedForward&, char*);
                   std::size_t packed_backward(const PackedProblem&, const PackedBackward&, char*);)

namespace nb = nanobind;

namespace elasticgnn {

namespace {

using PackedSizes = std::array<std::int64_t, 5>;  // nodes, registers, chunks, width, stride
using PackedTables =
    std::array<Address, 9>;  // chunk, share, group, column, owner, edge, order, weight, scale
using Settings = std::array<double, 4>;  // lambda1, gamma, beta, smoothing
using Options = std::array<int, 3>;      // steps, threads, whether the norm is l1

PackedProblem make_problem(const PackedSizes& sizes, const PackedTables& tables,
                           const Settings& settings, const Options& options) {
  PackedProblem problem{};
  problem.graph = {sizes[0],
                   sizes[1],
                   sizes[2],
                   at<std::int32_t>(tables[0]),
                   at<std::int32_t>(tables[1]),
                   at<std::int32_t>(tables[2]),
                   at<std::int32_t>(tables[3]),
                   at<std::int32_t>(tables[4]),
                   at<std::int32_t>(tables[5]),
                   at<std::int32_t>(tables[6]),
                   at<float>(tables[7]),
                   at<float>(tables[8])};
  problem.width = sizes[3], problem.stride = sizes[4];
  problem.lambda1 = float(settings[0]), problem.gamma = float(settings[1]);
  problem.beta = float(settings[2]), problem.smoothing = float(settings[3]);
  problem.steps = options[0], problem.threads = options[1], problem.box = options[2] != 0;
  return problem;
}

// `saved` holds the addresses of the rows' table and of the masks, or zeros; `more(bytes)` gives
// memory for rows that lives as long as the gradient may be asked for.
void forward(const PackedSizes& sizes, const PackedTables& tables, const Settings& settings,
             const Options& options, std::array<Address, 2> rows, std::array<Address, 2> saved,
             const nb::callable& more) {
  Supply<float> supply{more, nullptr};
  const PackedActiveRows active{at<const float*>(saved[0]), at<std::uint16_t>(saved[1]),
                                &Supply<float>::more, &supply};
  const PackedForward job{at<float>(rows[0]), at<float>(rows[1]), saved[0] ? &active : nullptr};
  static const auto kernel = ELASTICGNN_PICK(packed_forward);
  call_steps(kernel, make_problem(sizes, tables, settings, options), job);
  if (supply.failure) std::rethrow_exception(supply.failure);
}

void backward(const PackedSizes& sizes, const PackedTables& tables, const Settings& settings,
              const Options& options, std::array<Address, 2> rows, std::array<Address, 2> saved) {
  const PackedActiveRows active{at<const float*>(saved[0]), at<std::uint16_t>(saved[1]), nullptr,
                                nullptr};
  const PackedBackward job{at<float>(rows[0]), at<float>(rows[1]), &active};
  static const auto kernel = ELASTICGNN_PICK(packed_backward);
  call_steps(kernel, make_problem(sizes, tables, settings, options), job);
}

int lanes(std::int64_t width) {
  static const auto kernel = ELASTICGNN_PICK(packed_lanes);
  return kernel(width);
}

}  // namespace

void bind_packed(nb::module_& module) {
  module.def("packed_lanes", &lanes);
  module.def("packed_forward", &forward);
  module.def("packed_backward", &backward);
}

}  // namespace elasticgnn
