// Bindings of the exact solver on forests.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "solver/problem.h"
#include "solver/forest.h"

namespace nb = nanobind;

namespace elasticgnn {
namespace {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = Vector<std::int32_t>;
using Values = Vector<const double>;

}  // namespace

void bind_forest(nb::module_& module) {
  module.def(
      "forest_root",
      [](const Mesh& mesh, Values radius, Numbers order, Numbers parent, Numbers edge) {
        nb::gil_scoped_release release;
        return root_forest(mesh, radius.data(), order.data(), parent.data(), edge.data());
      },
      "Parents before children, each with its parent's place and edge; False if there is a cycle.");
  module.def(
      "forest_solve",
      [](Numbers parent, Values radius, Values stiff, Values center, Vector<double> signal,
         Vector<double> flow) {
        nb::gil_scoped_release release;
        solve_forest({std::int32_t(parent.shape(0)), parent.data(), radius.data(), stiff.data(),
                      center.data()},
                     signal.data(), flow.data());
      },
      "The exact signal of one channel, and the flow of each node's edge to its parent.");
}

}  // namespace elasticgnn
