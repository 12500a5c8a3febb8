// Bindings of the sparse Cholesky factors.
#include <nanobind/nanobind.h>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "solver/cholesky.h"
#include "solver/sparse_factor.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(bool cholesky_factorise(const Cholesky&);
                   void cholesky_solve(const Cholesky&, double*, double*);)

namespace elasticgnn {

void bind_cholesky(nb::module_& module) {
  nb::class_<SparseFactor>(module, "SparseFactor",
                           "The order and the shape of a sparse Cholesky factor.")
      .def("__init__",
           [](SparseFactor* self, std::int32_t nodes, int channels, std::int64_t entries, Array row,
              Array column, double most) {
             const auto *rows = at<const std::int32_t>(row),
                        *columns = at<const std::int32_t>(column);
             call([&] { new (self) SparseFactor(nodes, channels, entries, rows, columns, most); });
           })
      .def_prop_ro("size", &SparseFactor::size, "Numbers that the factor holds.")
      .def_prop_ro("work", &SparseFactor::work, "Multiplications of one factorisation, about.")
      .def("places",
           [](const SparseFactor& self, std::int64_t entries, Array row, Array column, Array out) {
             self.places(entries, at<const std::int32_t>(row), at<const std::int32_t>(column),
                         at<std::int64_t>(out));
           })
      .def(
          "factorise",
          [](SparseFactor& self, Array values) {
            return call(ELASTICGNN_PICK(cholesky_factorise), self.view(at<double>(values)));
          },
          "Factorises the numbers in their place; False if they are not definite.")
      .def(
          "solve",
          [](SparseFactor& self, Array values, Array right) {
            const Cholesky factor = self.view(at<double>(values));
            double* const moved = self.moved_in(at<const double>(right));
            call(ELASTICGNN_PICK(cholesky_solve), factor, moved, self.rows_of_a_front());
            self.moved_out(at<double>(right));
          },
          "The solution for a right-hand side, in its place.");
}

}  // namespace elasticgnn
