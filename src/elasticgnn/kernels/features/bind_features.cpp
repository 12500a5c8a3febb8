#include <nanobind/nanobind.h>

#include "binding/dispatch.h"
#include "features/problem.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void sparse_product(const SparseProduct& p); void keep_mask(const KeepMask& p);)

namespace elasticgnn {

void bind_features(nb::module_& module) {
  nb::class_<SparseRows>(module, "SparseRows",
                         "CSR arrays by address; their owner keeps them alive.")
      .def("__init__", [](SparseRows* self, std::int64_t rows, std::uintptr_t start,
                          std::uintptr_t column, std::uintptr_t value, std::uintptr_t entry) {
        new (self) SparseRows{rows, reinterpret_cast<const std::int64_t*>(start),
                              reinterpret_cast<const std::int32_t*>(column),
                              reinterpret_cast<const float*>(value),
                              reinterpret_cast<const std::int32_t*>(entry)};
      });
  module.def(
      "sparse_product",
      [](const SparseRows& matrix, std::uintptr_t dense, std::uintptr_t out, std::int64_t width,
         int threads) {
        static const auto kernel = ELASTICGNN_PICK(sparse_product);
        nb::gil_scoped_release release;
        kernel({matrix, reinterpret_cast<const float*>(dense), reinterpret_cast<float*>(out), width,
                threads});
      },
      "out <- matrix times dense (f, width).");
  module.def(
      "keep_mask",
      [](std::uint64_t key, std::uint32_t threshold, std::int64_t count, std::uintptr_t keep,
         int threads) {
        static const auto kernel = ELASTICGNN_PICK(keep_mask);
        nb::gil_scoped_release release;
        kernel({key, threshold, count, reinterpret_cast<std::uint8_t*>(keep), threads});
      },
      "keep <- which positions survive dropout, one byte each.");
}

}  // namespace elasticgnn
