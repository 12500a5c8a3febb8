// STREAM's triad, a = b + q c: the yardstick for the share of memory bandwidth that benchmarks
// report.
#include <cstdint>

namespace elasticgnn::ISA_NAMESPACE {

void triad(float* a, const float* b, const float* c, float q, std::int64_t size, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < size; ++i) a[i] = b[i] + q * c[i];
}

}  // namespace elasticgnn::ISA_NAMESPACE
