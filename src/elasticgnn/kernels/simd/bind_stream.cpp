#include <nanobind/nanobind.h>

#include <cstdint>

#include "binding/call.h"
#include "binding/dispatch.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void triad(float* a, const float* b, const float* c, float q, std::int64_t size,
                              int threads);)

namespace elasticgnn {

void bind_stream(nb::module_& module) {
  module.def(
      "triad",
      [](Address a, Address b, Address c, float q, std::int64_t size, int threads) {
        static const auto kernel = ELASTICGNN_PICK(triad);
        call(kernel, at<float>(a), at<const float>(b), at<const float>(c), q, size, threads);
      },
      "a <- b + q c on float32 arrays given by address.");
}

}  // namespace elasticgnn
