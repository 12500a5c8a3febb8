// Bindings of the exact solver on forests.
#include <nanobind/nanobind.h>

#include "binding/call.h"
#include "solver/forest.h"
#include "solver/problem.h"
#include "solver/rooting.h"

namespace nb = nanobind;

namespace elasticgnn {

void bind_forest(nb::module_& module) {
  module.def(
      "forest_root",
      [](const Mesh& mesh, Array radius, Array order, Array parent, Array edge) {
        return call(&root_forest, mesh, at<const double>(radius), at<std::int32_t>(order),
                    at<std::int32_t>(parent), at<std::int32_t>(edge));
      },
      "Parents before children, each with its parent's place and edge; False if there is a cycle.");
  module.def(
      "forest_solve",
      [](std::int32_t nodes, Array parent, Array radius, Array stiff, Array center, Array signal,
         Array flow) {
        const ForestProblem problem{nodes, at<const std::int32_t>(parent), at<const double>(radius),
                                    at<const double>(stiff), at<const double>(center)};
        call(&solve_forest, problem, at<double>(signal), at<double>(flow));
      },
      "The exact signal of one channel, and the flow of each node's edge to its parent.");
}

}  // namespace elasticgnn
