#include <nanobind/nanobind.h>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "features/problem.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void sparse_product(const SparseProduct& p);
                   void dropped_product(const DroppedProduct& p); void keep_mask(const KeepMask& p);
                   void keep_rows(const KeepRows& p);)

namespace elasticgnn {

void bind_features(nb::module_& module) {
  nb::class_<SparseRows>(module, "SparseRows",
                         "CSR arrays by address; their owner keeps them alive.")
      .def("__init__", [](SparseRows* self, std::int64_t rows, Address start, Address column,
                          Address value, Address entry) {
        new (self) SparseRows{rows, at<const std::int64_t>(start), at<const std::int32_t>(column),
                              at<const float>(value), at<const std::int32_t>(entry)};
      });
  module.def(
      "sparse_product",
      [](const SparseRows& matrix, Address dense, Address out, std::int64_t width, int threads) {
        static const auto kernel = ELASTICGNN_PICK(sparse_product);
        call(kernel, SparseProduct{matrix, at<const float>(dense), at<float>(out), width, threads});
      },
      "out <- matrix times dense (f, width).");
  module.def(
      "dropped_product",
      [](const SparseRows& matrix, std::uint64_t key, std::uint32_t threshold, float scale,
         Address dense, Address out, std::int64_t width, int threads) {
        static const auto kernel = ELASTICGNN_PICK(dropped_product);
        call(kernel, DroppedProduct{matrix, key, threshold, scale, at<const float>(dense),
                                    at<float>(out), width, threads});
      },
      "out <- what dropout leaves of matrix, scaled, times dense (f, width).");
  module.def(
      "keep_mask",
      [](std::uint64_t key, std::uint32_t threshold, std::int64_t count, Address keep,
         int threads) {
        static const auto kernel = ELASTICGNN_PICK(keep_mask);
        call(kernel, KeepMask{key, threshold, count, at<std::uint8_t>(keep), threads});
      },
      "keep <- which positions survive dropout, one byte each.");
  module.def(
      "keep_rows",
      [](std::uint64_t key, std::uint32_t threshold, std::int64_t rows, Address first,
         Address start, Address keep, int threads) {
        static const auto kernel = ELASTICGNN_PICK(keep_rows);
        call(kernel, KeepRows{key, threshold, rows, at<const std::int64_t>(first),
                              at<const std::int64_t>(start), at<std::uint8_t>(keep), threads});
      },
      "keep <- the same of rows of a larger array, by the position of each row's first value.");
}

}  // namespace elasticgnn
