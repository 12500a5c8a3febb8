// Bindings of the node system in twice the digits.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "solver/precise.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void precise_assemble(const PreciseSystem&, const TwofoldBand&);
                   bool precise_factorise(const TwofoldBand&);
                   void precise_solve(const TwofoldBand&, double*, double*);
                   void precise_multiply(const TwofoldRows&, int, const double*, const double*,
                                         double*);)

namespace elasticgnn {

void bind_precise(nb::module_& module) {
  nb::class_<TwofoldRows>(module, "TwofoldRows")
      .def("__init__", [](TwofoldRows* self, std::int64_t rows, Array start, Array column,
                          Array high, Array low) {
        new (self) TwofoldRows{rows, at<const std::int32_t>(start), at<const std::int32_t>(column),
                               at<const double>(high), at<const double>(low)};
      });
  nb::class_<TwofoldBand>(module, "TwofoldBand")
      .def("__init__", [](TwofoldBand* self, int width, std::int64_t size, Array high, Array low) {
        new (self) TwofoldBand{width, size, at<double>(high), at<double>(low)};
      });
  module.def(
      "precise_factorise",
      [](const TwofoldRows& rows, int channels, Array position, Array weight, Array high, Array low,
         const TwofoldBand& band) {
        const PreciseSystem system{rows,
                                   channels,
                                   at<const std::int32_t>(position),
                                   at<const double>(weight),
                                   at<const double>(high),
                                   at<const double>(low)};
        call(ELASTICGNN_PICK(precise_assemble), system, band);
        return call(ELASTICGNN_PICK(precise_factorise), band);
      },
      "C + K' G K factorised in the band; False if it is not definite.");
  module.def(
      "precise_solve",
      [](const TwofoldBand& band, Array high, Array low) {
        call(ELASTICGNN_PICK(precise_solve), band, at<double>(high), at<double>(low));
      },
      "The solution for a right-hand side high + low (n,), in its place.");
  module.def(
      "precise_multiply",
      [](const TwofoldRows& matrix, int channels, Array high, Array low, Array out) {
        call(ELASTICGNN_PICK(precise_multiply), matrix, channels, at<const double>(high),
             at<const double>(low), at<double>(out));
      },
      "The product of a matrix with rows high + low (n, d), rounded.");
}

}  // namespace elasticgnn
