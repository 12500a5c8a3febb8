// Python's entrance to elastic message passing (binding/call.h), for
// elasticgnn.operator.fused_loops and .population.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include <array>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "emp/bind_problem.h"
#include "emp/problem.h"

ELASTICGNN_DECLARE(
    template <class T> std::size_t emp_forward(const EmpProblem<T>&, const EmpForward<T>&, char*);
    template <class T> std::size_t emp_backward(const EmpProblem<T>&, const EmpBackward<T>&, char*);
    int emp_population_lanes();
    std::size_t emp_population(const EmpProblem<float>&, const EmpPopulation&, char*);)

namespace nb = nanobind;

namespace elasticgnn {

namespace {

template <class T>
void forward(const EmpShape& sizes, const EmpTables& tables, const EmpSettings& settings,
             const EmpOptions& options, Address x, std::array<Address, 6> rows, bool use_dual,
             int gradients, int every, bool all_nodes) {
  const auto problem = make_problem<T>(sizes, tables, settings, options, x);
  EmpForward<T> job{};
  job.first_signal = at<T>(rows[0]), job.first_dual = at<T>(rows[1]);
  job.out = at<T>(rows[2]), job.last_dual = at<T>(rows[3]);
  job.nodes = at<T>(rows[4]), job.duals = at<T>(rows[5]);
  job.use_dual = use_dual, job.gradients = WantedGradients(gradients), job.every = every,
  job.all_nodes = all_nodes;
  static const auto kernel = ELASTICGNN_PICK(emp_forward<T>);
  call_steps(kernel, problem, job);
}

template <class T>
void backward(const EmpShape& sizes, const EmpTables& tables, const EmpSettings& settings,
              const EmpOptions& options, Address x, std::array<Address, 4> rows,
              std::array<Address, 4> gradients, bool use_dual, bool is_saved, int every,
              bool all_nodes) {
  const auto problem = make_problem<T>(sizes, tables, settings, options, x);
  EmpBackward<T> job{};
  job.grad = at<T>(rows[0]), job.out = at<T>(rows[1]);
  job.nodes = at<T>(rows[2]), job.duals = at<T>(rows[3]);
  job.grad_x = at<T>(gradients[0]), job.grad_weight = at<T>(gradients[1]);
  job.grad_scale = at<T>(gradients[2]), job.grad_sizes = at<T>(gradients[3]);
  job.use_dual = use_dual, job.is_saved = is_saved, job.every = every, job.all_nodes = all_nodes;
  static const auto kernel = ELASTICGNN_PICK(emp_backward<T>);
  call_steps(kernel, problem, job);
}

// `rows` are where the result goes and the order of the nodes.
void population(const EmpShape& sizes, const EmpTables& tables, const EmpSettings& settings,
                const EmpOptions& options, Address x, std::array<Address, 2> rows, bool use_dual) {
  const auto problem = make_problem<float>(sizes, tables, settings, options, x);
  const EmpPopulation job{at<float>(rows[0]), at<std::int64_t>(rows[1]), use_dual};
  static const auto kernel = ELASTICGNN_PICK(emp_population);
  call_steps(kernel, problem, job);
}

}  // namespace

void bind_emp(nb::module_& module) {
  module.def("emp_forward_f32", &forward<float>);
  module.def("emp_forward_f64", &forward<double>);
  module.def("emp_backward_f32", &backward<float>);
  module.def("emp_backward_f64", &backward<double>);
  module.def("emp_population", &population);
  module.attr("population_lanes") = ELASTICGNN_PICK(emp_population_lanes)();
  module.attr("population_width") = kPopulationWidth;
}

}  // namespace elasticgnn
