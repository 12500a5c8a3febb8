#include <nanobind/nanobind.h>

#include <cstdint>

#include "binding/dispatch.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void triad(float* a, const float* b, const float* c, float q, std::int64_t size,
                              int threads);)

namespace elasticgnn {

void bind_stream(nb::module_& module) {
  module.def(
      "triad",
      [](std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, float q, std::int64_t size,
         int threads) {
        static const auto kernel = ELASTICGNN_PICK(triad);
        nb::gil_scoped_release release;
        kernel(reinterpret_cast<float*>(a), reinterpret_cast<const float*>(b),
               reinterpret_cast<const float*>(c), q, size, threads);
      },
      "a <- b + q c on float32 arrays given by address.");
}

}  // namespace elasticgnn
