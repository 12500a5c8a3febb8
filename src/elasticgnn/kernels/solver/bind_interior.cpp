// Bindings of the interior point method's loops and of its banded factors.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "binding/dispatch.h"
#include "solver/interior.h"
#include "solver/node_pattern.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void interior_scale(const Interior&, const Assembly&, double);
                   void interior_assemble(const Interior&, const Assembly&);
                   double interior_follow(const Interior&);
                   void interior_correct(const Interior&, double);
                   Standing interior_stand(const Interior&, double);
                   bool band_factorise(int, std::int64_t, double*);
                   void band_solve(int, std::int64_t, const double*, double*);)

namespace elasticgnn {
namespace {

// Contiguous arrays, which the caller keeps alive; shapes are checked in Python.
template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Values = Array<const double>;
using Numbers = Array<const std::int32_t>;
using Room = Array<double>;

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
      .def("__init__", [](Sparse* self, Numbers start, Numbers column, Values value) {
        new (self)
            Sparse{std::int64_t(start.shape(0)) - 1, start.data(), column.data(), value.data()};
      });
  nb::class_<Assembly>(module, "Assembly")
      .def("__init__",
           [](Assembly* self, const Sparse& sums, Numbers diagonal, Array<const std::int64_t> place,
              Room room) {
             new (self) Assembly{-1,           nullptr,
                                 sums,         diagonal.data(),
                                 place.data(), std::int64_t(room.size()),
                                 room.data()};
           })
      .def(
          "__init__",
          [](Assembly* self, Room band, std::optional<Numbers> position) {
            new (self) Assembly{int(band.shape(1)) - 1,
                                position ? position->data() : nullptr,
                                Sparse{},
                                nullptr,
                                nullptr,
                                std::int64_t(band.size()),
                                band.data()};
          },
          nb::arg(), nb::arg().none());
  nb::class_<Interior>(module, "Interior")
      .def("__init__",
           [](Interior* self, int channels, const Sparse& operators, const Sparse& adjoint,
              Values radius, Values quadratic, Values weight, Values x, Room signal, Room residual,
              Room change, Room flow, Room difference, Room tau, Room theta, Room w0, Room lam0,
              Room first, Room w1, Room lam1, Room pull, Room du, Room dv, Room blocks) {
             new (self) Interior{channels,         operators,     adjoint,       radius.data(),
                                 quadratic.data(), weight.data(), x.data(),      signal.data(),
                                 residual.data(),  change.data(), flow.data(),   difference.data(),
                                 tau.data(),       theta.data(),  w0.data(),     lam0.data(),
                                 w1.data(),        lam1.data(),   blocks.data(), pull.data(),
                                 first.data(),     du.data(),     dv.data()};
           });
  module.def(
      "interior_scale",
      [](const Interior& rows, const Assembly& to, double mu) {
        nb::gil_scoped_release release;
        ELASTICGNN_PICK(interior_scale)(rows, to, mu);
      },
      "The rows' scaling, the node system, and the right side of the affine direction.");
  module.def(
      "interior_assemble",
      [](int channels, const Sparse& operators, const Sparse& adjoint, Room blocks, Values weight,
         const Assembly& to) {
        Interior rows{};
        rows.channels = channels;
        rows.operators = operators;
        rows.adjoint = adjoint;
        rows.blocks = blocks.data();
        rows.weight = weight.data();
        nb::gil_scoped_release release;
        ELASTICGNN_PICK(interior_assemble)(rows, to);
      },
      "The node system of given blocks, lower triangles (r, d (d + 1) / 2).");
  module.def(
      "interior_follow",
      [](const Interior& rows) {
        nb::gil_scoped_release release;
        return ELASTICGNN_PICK(interior_follow)(rows);
      },
      "What the signal's change does to the flows; returns the longest step.");
  module.def(
      "interior_correct",
      [](const Interior& rows, double target) {
        nb::gil_scoped_release release;
        ELASTICGNN_PICK(interior_correct)(rows, target);
      },
      "The right side of the corrected direction.");
  module.def(
      "interior_stand",
      [](const Interior& rows, double step) {
        nb::gil_scoped_release release;
        const Standing at = ELASTICGNN_PICK(interior_stand)(rows, step);
        return std::make_tuple(at.objective, at.rows, at.nodes, at.left);
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
      [](Room band) {
        nb::gil_scoped_release release;
        const auto size = std::int64_t(band.shape(0));
        return ELASTICGNN_PICK(band_factorise)(int(band.shape(1)) - 1, size, band.data());
      },
      "Cholesky factors of a band (n, width + 1) in its place; False if it is not definite.");
  module.def(
      "band_solve",
      [](Values band, Room right) {
        nb::gil_scoped_release release;
        const auto size = std::int64_t(band.shape(0));
        ELASTICGNN_PICK(band_solve)(int(band.shape(1)) - 1, size, band.data(), right.data());
      },
      "The solution for a right-hand side (n,), in its place.");
}

}  // namespace elasticgnn
