// Bindings of the interior point method's loops and of its banded factors.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>
#include <vector>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "solver/interior.h"
#include "solver/node_pattern.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void interior_scale(const Interior&, const Assembly&, double);
                   void interior_assemble(const Interior&, const Assembly&);
                   double interior_follow(const Interior&);
                   void interior_correct(const Interior&, double);
                   Optimality interior_optimality(const Interior&, double);
                   bool band_factorise(int, std::int64_t, double*);
                   void band_solve(int, std::int64_t, const double*, double*);)

namespace elasticgnn {
namespace {

// An array of Python's that owns the numbers.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> handed_over(std::vector<T>&& numbers) {
  auto* const kept = new std::vector<T>(std::move(numbers));
  const nb::capsule owner(
      kept, [](void* address) noexcept { delete static_cast<std::vector<T>*>(address); });
  return {kept->data(), {kept->size()}, owner};
}

}  // namespace

void bind_interior(nb::module_& module) {
  module.attr("INTERIOR_CHANNELS") = INTERIOR_CHANNELS;
  module.attr("INTERIOR_BAND") = INTERIOR_BAND;
  nb::class_<Sparse>(module, "Sparse")
      .def("__init__", [](Sparse* self, std::int64_t rows, Array start, Array column, Array value) {
        new (self) Sparse{rows, at<const std::int32_t>(start), at<const std::int32_t>(column),
                          at<const double>(value)};
      });
  nb::class_<Assembly>(module, "Assembly")
      .def("__init__",
           [](Assembly* self, const Sparse& sums, Array diagonal, Array place, std::int64_t size,
              Array room) {
             new (self) Assembly{-1,
                                 nullptr,
                                 sums,
                                 at<const std::int32_t>(diagonal),
                                 at<const std::int64_t>(place),
                                 size,
                                 at<double>(room)};
           })
      .def(
          "__init__",
          [](Assembly* self, int width, std::int64_t size, Array band, Array position) {
            new (self) Assembly{
                width,           at<const std::int32_t>(position), Sparse{}, nullptr, nullptr, size,
                at<double>(band)};
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  nb::class_<Interior>(module, "Interior")
      .def("__init__",
           [](Interior* self, int channels, const Sparse& operators, const Sparse& adjoint,
              Array radius, Array quadratic, Array weight, Array x, Array signal, Array residual,
              Array change, Array flow, Array difference, Array tau, Array theta, Array w0,
              Array lam0, Array first, Array w1, Array lam1, Array shift, Array du, Array dv,
              Array blocks) {
             new (self) Interior{channels,
                                 operators,
                                 adjoint,
                                 at<const double>(radius),
                                 at<const double>(quadratic),
                                 at<const double>(weight),
                                 at<const double>(x),
                                 at<double>(signal),
                                 at<double>(residual),
                                 at<double>(change),
                                 at<double>(flow),
                                 at<double>(difference),
                                 at<double>(tau),
                                 at<double>(theta),
                                 at<double>(w0),
                                 at<double>(lam0),
                                 at<double>(w1),
                                 at<double>(lam1),
                                 at<double>(blocks),
                                 at<double>(shift),
                                 at<double>(first),
                                 at<double>(du),
                                 at<double>(dv)};
           });
  module.def(
      "interior_scale",
      [](const Interior& rows, const Assembly& to, double mu) {
        call(ELASTICGNN_PICK(interior_scale), rows, to, mu);
      },
      "The rows' scaling, the node system, and the right side of the affine direction.");
  module.def(
      "interior_assemble",
      [](int channels, const Sparse& operators, const Sparse& adjoint, Array blocks, Array weight,
         const Assembly& to) {
        Interior rows{};
        rows.channels = channels;
        rows.operators = operators;
        rows.adjoint = adjoint;
        rows.blocks = at<double>(blocks);
        rows.weight = at<const double>(weight);
        call(ELASTICGNN_PICK(interior_assemble), rows, to);
      },
      "The node system of given blocks, lower triangles (r, d (d + 1) / 2).");
  module.def(
      "interior_follow",
      [](const Interior& rows) { return call(ELASTICGNN_PICK(interior_follow), rows); },
      "What the signal's change does to the flows; returns the longest step.");
  module.def(
      "interior_correct",
      [](const Interior& rows, double target) {
        call(ELASTICGNN_PICK(interior_correct), rows, target);
      },
      "The right side of the corrected direction.");
  module.def(
      "interior_optimality",
      [](const Interior& rows, double step) {
        const Optimality now = call(ELASTICGNN_PICK(interior_optimality), rows, step);
        return std::make_tuple(now.objective, now.rows, now.nodes, now.missing_residual);
      },
      "Moves by a step; objective, gap of rows and of nodes, residual where values are missing.");
  module.def(
      "interior_pattern",
      [](const Sparse& operators, const Sparse& adjoint) {
        NodePattern found = node_pattern(operators, adjoint);
        return std::make_tuple(
            handed_over(std::move(found.row)), handed_over(std::move(found.column)),
            handed_over(std::move(found.start)), handed_over(std::move(found.source)),
            handed_over(std::move(found.factor)));
      },
      "Rows and columns of the node system's pattern, and the terms of each entry by rows.");
  module.def(
      "band_factorise",
      [](int width, std::int64_t size, Array band) {
        return call(ELASTICGNN_PICK(band_factorise), width, size, at<double>(band));
      },
      "Cholesky factors of a band (n, width + 1) in its place; False if it is not definite.");
  module.def(
      "band_solve",
      [](int width, std::int64_t size, Array band, Array right) {
        call(ELASTICGNN_PICK(band_solve), width, size, at<const double>(band), at<double>(right));
      },
      "The solution for a right-hand side (n,), in its place.");
}

}  // namespace elasticgnn
