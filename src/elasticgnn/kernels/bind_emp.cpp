// Python's entrance to elastic message passing. Arrays come as addresses (0: not given); their shapes,
// types and contiguity were checked by elasticgnn.operator.fused.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include <array>

#include "bind_supply.h"
#include "dispatch.h"
#include "emp.h"

ELASTICGNN_DECLARE(
    template <class T> std::size_t emp_forward(const EmpProblem<T>&, const EmpForward<T>&, char*);
    template <class T> std::size_t emp_backward(const EmpProblem<T>&, const EmpBackward<T>&, char*);
    int emp_tiled_width();
    int emp_population_lanes();
    std::size_t emp_tiled(const EmpProblem<float>&, const EmpTiled&, char*);
    std::size_t emp_population(const EmpProblem<float>&, const EmpPopulation&, char*);)

namespace nb = nanobind;

namespace elasticgnn {

namespace {

using Sizes = std::array<std::int64_t, 4>;      // nodes, edges, runs, width
using Tables = std::array<Address, 5>;          // start, column, edge, weight, scale
using Settings = std::array<Address, 4>;        // lambda1, gamma, beta, pull
using Options = std::array<int, 3>;             // norm, steps, threads

template <class T>
EmpProblem<T> make_problem(const Sizes& sizes, const Tables& tables, const Settings& settings,
                           const Options& options, double concavity, Address x) {
  EmpProblem<T> problem{};
  problem.num_nodes = sizes[0], problem.num_edges = sizes[1];
  problem.runs = sizes[2], problem.width = sizes[3];
  problem.start = at<std::int64_t>(tables[0]);
  problem.column = at<std::int32_t>(tables[1]), problem.edge = at<std::int32_t>(tables[2]);
  problem.weight = at<T>(tables[3]), problem.scale = at<T>(tables[4]);
  problem.lambda1 = at<T>(settings[0]), problem.gamma = at<T>(settings[1]);
  problem.beta = at<T>(settings[2]), problem.pull = at<T>(settings[3]);
  problem.norm = EdgeNorm(options[0]), problem.steps = options[1], problem.threads = options[2];
  problem.concavity = concavity;
  problem.x = at<T>(x);
  return problem;
}

// Asks for the scratch size, borrows it, runs without the GIL.
template <class Kernel, class Problem, class Job>
void run(Kernel kernel, const Problem& problem, const Job& job, const nb::object& workspace) {
  const std::size_t bytes = kernel(problem, job, nullptr);
  const Loan scratch(workspace, bytes == 0 ? 64 : bytes);
  nb::gil_scoped_release release;
  kernel(problem, job, scratch.data);
}

template <class T>
void forward(const Sizes& sizes, const Tables& tables, const Settings& settings,
             const Options& options, double concavity, Address x, std::array<Address, 6> rows,
             bool use_dual, int keep, int every, bool keep_nodes, const nb::object& workspace) {
  const auto problem = make_problem<T>(sizes, tables, settings, options, concavity, x);
  EmpForward<T> job{};
  job.first_signal = at<T>(rows[0]), job.first_dual = at<T>(rows[1]);
  job.out = at<T>(rows[2]), job.last_dual = at<T>(rows[3]);
  job.nodes = at<T>(rows[4]), job.duals = at<T>(rows[5]);
  job.use_dual = use_dual, job.keep = keep, job.every = every, job.keep_nodes = keep_nodes;
  static const auto kernel = ELASTICGNN_PICK(emp_forward<T>);
  run(kernel, problem, job, workspace);
}

template <class T>
void backward(const Sizes& sizes, const Tables& tables, const Settings& settings,
              const Options& options, double concavity, Address x, std::array<Address, 4> rows,
              std::array<Address, 4> gradients, bool use_dual, bool kept, int every,
              bool keep_nodes, const nb::object& workspace) {
  const auto problem = make_problem<T>(sizes, tables, settings, options, concavity, x);
  EmpBackward<T> job{};
  job.grad = at<T>(rows[0]), job.out = at<T>(rows[1]);
  job.nodes = at<T>(rows[2]), job.duals = at<T>(rows[3]);
  job.grad_x = at<T>(gradients[0]), job.grad_weight = at<T>(gradients[1]);
  job.grad_scale = at<T>(gradients[2]), job.grad_sizes = at<T>(gradients[3]);
  job.use_dual = use_dual, job.kept = kept, job.every = every, job.keep_nodes = keep_nodes;
  static const auto kernel = ELASTICGNN_PICK(emp_backward<T>);
  run(kernel, problem, job, workspace);
}

// The same with the rows that the projections moved; `kept` are the addresses of their table and of the masks.
template <class T>
void forward_outside(const Sizes& sizes, const Tables& tables, const Settings& settings, const Options& options,
                     Address x, Address out, std::array<Address, 2> kept, const nb::object& workspace,
                     const nb::callable& keep) {
  const auto problem = make_problem<T>(sizes, tables, settings, options, 0, x);
  Supply<T> supply{keep, nullptr};
  const EmpOutside<T> outside{at<const T*>(kept[0]), at<std::uint8_t>(kept[1]), &Supply<T>::more, &supply};
  EmpForward<T> job{};
  job.out = at<T>(out), job.use_dual = true, job.every = problem.steps, job.outside = &outside;
  static const auto kernel = ELASTICGNN_PICK(emp_forward<T>);
  run(kernel, problem, job, workspace);
  if (supply.failure) std::rethrow_exception(supply.failure);
}

template <class T>
void backward_outside(const Sizes& sizes, const Tables& tables, const Settings& settings, const Options& options,
                      Address grad, Address grad_x, std::array<Address, 2> kept, const nb::object& workspace) {
  // X itself is not needed: its values only enter the gradient of the scale
  const auto problem = make_problem<T>(sizes, tables, settings, options, 0, grad);
  const EmpOutside<T> outside{at<const T*>(kept[0]), at<std::uint8_t>(kept[1]), nullptr, nullptr};
  EmpBackward<T> job{};
  job.grad = at<T>(grad), job.grad_x = at<T>(grad_x);
  job.use_dual = true, job.every = problem.steps, job.outside = &outside;
  static const auto kernel = ELASTICGNN_PICK(emp_backward<T>);
  run(kernel, problem, job, workspace);
}

// `rows` are where the result goes and the order of the nodes.
void population(const Sizes& sizes, const Tables& tables, const Settings& settings, const Options& options, double concavity,
                Address x, std::array<Address, 2> rows, bool use_dual, const nb::object& workspace) {
  const auto problem = make_problem<float>(sizes, tables, settings, options, concavity, x);
  const EmpPopulation job{at<float>(rows[0]), at<std::int64_t>(rows[1]), use_dual};
  static const auto kernel = ELASTICGNN_PICK(emp_population);
  run(kernel, problem, job, workspace);
}

// `tiles` are first_node, first_edge, tail, head and order.
void tiled(const Sizes& sizes, const Tables& tables, const Settings& settings, const Options& options, double concavity,
           Address x, Address out, std::int64_t blocks, std::array<Address, 5> tiles, const nb::object& workspace) {
  const auto problem = make_problem<float>(sizes, tables, settings, options, concavity, x);
  const EmpTiled job{at<float>(out), blocks, at<std::int64_t>(tiles[0]), at<std::int64_t>(tiles[1]),
                     at<std::int32_t>(tiles[2]), at<std::int32_t>(tiles[3]), at<std::int32_t>(tiles[4])};
  static const auto kernel = ELASTICGNN_PICK(emp_tiled);
  run(kernel, problem, job, workspace);
}

}  // namespace

void bind_emp(nb::module_& module) {
  module.def("emp_forward_f32", &forward<float>);
  module.def("emp_forward_f64", &forward<double>);
  module.def("emp_backward_f32", &backward<float>);
  module.def("emp_backward_f64", &backward<double>);
  module.def("emp_forward_outside_f32", &forward_outside<float>);
  module.def("emp_forward_outside_f64", &forward_outside<double>);
  module.def("emp_backward_outside_f32", &backward_outside<float>);
  module.def("emp_backward_outside_f64", &backward_outside<double>);
  module.def("emp_tiled", &tiled);
  module.attr("tiled_width") = ELASTICGNN_PICK(emp_tiled_width)();
  module.def("emp_population", &population);
  module.attr("population_lanes") = ELASTICGNN_PICK(emp_population_lanes)();
  module.attr("population_width") = kPopulationWidth;
  module.attr("emp_blocks") = kMaxBlocks;
}

}  // namespace elasticgnn
