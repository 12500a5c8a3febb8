// Python's entrance to predictions on many flipped graphs (binding/call.h), for
// elasticgnn.operator.flipped.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include <array>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "flipped/problem.h"

ELASTICGNN_DECLARE(std::size_t flipped_elastic(const FlippedGraphs&, const FlippedElastic&,
                                               const FlippedResult&, char*);
                   std::size_t flipped_convolutions(const FlippedGraphs&,
                                                    const FlippedConvolutions&,
                                                    const FlippedResult&, char*);
                   std::size_t flipped_reweighted(const FlippedGraphs&, const FlippedReweighted&,
                                                  const FlippedResult&, char*);
                   std::size_t flipped_polynomial(const FlippedGraphs&, const FlippedPolynomial&,
                                                  const FlippedResult&, char*);
                   std::size_t flipped_layers(const FlippedGraphs&, const FlippedLayers&,
                                              const FlippedResult&, char*);)

namespace nb = nanobind;

namespace elasticgnn {

namespace {

using FlippedSizes =
    std::array<std::int64_t, 5>;               // nodes, edges, graphs, most flips of one, threads
using FlippedTables = std::array<Address, 5>;  // tail, head, first edge, first flip, flips
using Result = std::array<std::int64_t, 3>;    // width, address of the rows, address of the labels
using FlippedNumbers = std::array<double, 6>;  // lambda1, gamma, beta, smoothing, and start and
                                               // slope of the projection

FlippedGraphs graphs_of(const FlippedSizes& sizes, const FlippedTables& tables) {
  return {sizes[0],
          sizes[1],
          sizes[2],
          sizes[3],
          at<std::int32_t>(tables[0]),
          at<std::int32_t>(tables[1]),
          at<std::int64_t>(tables[2]),
          at<std::int64_t>(tables[3]),
          at<std::int32_t>(tables[4]),
          int(sizes[4]),
          nullptr};
}

FlippedResult result_of(const Result& result) {
  return {result[0], at<float>(Address(result[1])), at<std::uint8_t>(Address(result[2]))};
}

// options: stride, shape, steps
void elastic(const FlippedSizes& sizes, const FlippedTables& tables, Address x,
             std::array<std::int64_t, 3> options, const FlippedNumbers& numbers,
             const Result& result) {
  static const auto kernel = ELASTICGNN_PICK(flipped_elastic);
  const FlippedElastic task{
      at<float>(x),      options[0],        float(numbers[0]), float(numbers[1]), float(numbers[2]),
      float(numbers[3]), float(numbers[4]), float(numbers[5]), Shape(options[1]), int(options[2])};
  call_steps(kernel, graphs_of(sizes, tables), task, result_of(result));
}

// arrays: x, first bias, second weights, second bias; shape: hidden, stride
void convolutions(const FlippedSizes& sizes, const FlippedTables& tables,
                  std::array<Address, 4> arrays, std::array<std::int64_t, 2> shape,
                  const Result& result) {
  static const auto kernel = ELASTICGNN_PICK(flipped_convolutions);
  const FlippedConvolutions task{at<float>(arrays[0]),
                                 at<float>(arrays[1]),
                                 at<float>(arrays[2]),
                                 at<float>(arrays[3]),
                                 shape[0],
                                 shape[1]};
  call_steps(kernel, graphs_of(sizes, tables), task, result_of(result));
}

// options: stride, norm, double root, steps; numbers: fidelity, cut, smallest
void reweighted(const FlippedSizes& sizes, const FlippedTables& tables, Address x,
                std::array<std::int64_t, 4> options, std::array<double, 3> numbers,
                const Result& result) {
  static const auto kernel = ELASTICGNN_PICK(flipped_reweighted);
  const FlippedReweighted task{at<float>(x),      options[0],        float(numbers[0]),
                               float(numbers[1]), float(numbers[2]), Reweighting(options[1]),
                               options[2] != 0,   int(options[3])};
  call_steps(kernel, graphs_of(sizes, tables), task, result_of(result));
}

// arrays: x, mix; shape: stride, steps
void polynomial(const FlippedSizes& sizes, const FlippedTables& tables,
                std::array<Address, 2> arrays, std::array<std::int64_t, 2> shape,
                const Result& result) {
  static const auto kernel = ELASTICGNN_PICK(flipped_polynomial);
  const FlippedPolynomial task{at<float>(arrays[0]), at<float>(arrays[1]), shape[0], int(shape[1])};
  call_steps(kernel, graphs_of(sizes, tables), task, result_of(result));
}

// arrays: x, second weights, second bias; shape: hidden, its columns in use, stride, mixing
void layers(const FlippedSizes& sizes, const FlippedTables& tables, std::array<Address, 3> arrays,
            std::array<std::int64_t, 4> shape, double parameter, const Result& result) {
  static const auto kernel = ELASTICGNN_PICK(flipped_layers);
  const FlippedLayers task{at<float>(arrays[0]),
                           at<float>(arrays[1]),
                           at<float>(arrays[2]),
                           shape[0],
                           shape[1],
                           shape[2],
                           Mixing(shape[3]),
                           float(parameter)};
  call_steps(kernel, graphs_of(sizes, tables), task, result_of(result));
}

}  // namespace

void bind_flipped(nb::module_& module) {
  module.def("flipped_elastic", &elastic);
  module.def("flipped_convolutions", &convolutions);
  module.def("flipped_reweighted", &reweighted);
  module.def("flipped_polynomial", &polynomial);
  module.def("flipped_layers", &layers);
}

}  // namespace elasticgnn
