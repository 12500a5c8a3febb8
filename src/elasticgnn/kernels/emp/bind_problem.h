// A problem of elastic message passing from Python's arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include <array>

#include "binding/supply.h"
#include "emp/problem.h"

namespace elasticgnn {

using EmpShape = std::array<std::int64_t, 4>;  // nodes, edges, runs, width
using EmpTables = std::array<Address, 5>;      // start, column, edge, weight, scale
using EmpSettings = std::array<Address, 8>;  // lambda1, gamma, beta, smoothing; fade: start, slope,
                                             // their derivatives
using EmpOptions = std::array<int, 3>;       // shape, steps, threads

template <class T>
EmpProblem<T> make_problem(const EmpShape& sizes, const EmpTables& tables,
                           const EmpSettings& settings, const EmpOptions& options, Address x) {
  EmpProblem<T> problem{};
  problem.num_nodes = sizes[0], problem.num_edges = sizes[1];
  problem.runs = sizes[2], problem.width = sizes[3];
  problem.start = at<std::int64_t>(tables[0]);
  problem.column = at<std::int32_t>(tables[1]), problem.edge = at<std::int32_t>(tables[2]);
  problem.weight = at<T>(tables[3]), problem.scale = at<T>(tables[4]);
  problem.lambda1 = at<T>(settings[0]), problem.gamma = at<T>(settings[1]);
  problem.beta = at<T>(settings[2]), problem.smoothing = at<T>(settings[3]);
  problem.fade_start = at<T>(settings[4]), problem.fade_slope = at<T>(settings[5]);
  problem.fade_start_beta = at<T>(settings[6]), problem.fade_slope_beta = at<T>(settings[7]);
  problem.shape = Shape(options[0]), problem.steps = options[1], problem.threads = options[2];
  problem.x = at<T>(x);
  return problem;
}

}  // namespace elasticgnn
