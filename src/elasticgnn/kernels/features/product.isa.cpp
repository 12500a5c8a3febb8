// Loops of features/product.py and features/dropout.py, which state the same in plain torch.
// Callers have checked shapes, types and contiguity: nothing here throws.
#include "features/product.h"

#include "simd/sixteen.h"
#include "simd/vec.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

// V blocks of lanes of one row: the sum of its values times rows of the dense matrix.
template <int V>
void row_block(const SparseProduct& p, std::int64_t row, std::int64_t first) {
  const SparseRows& m = p.matrix;
  const std::int64_t begin = m.start[row];
  weighted_rows<V>(m.column + begin, m.value + begin, m.start[row + 1] - begin, p.dense + first,
                   p.width, 1.0f, p.out + row * p.width + first);
}

// The last columns, fewer than a block.
void row_rest(const SparseProduct& p, std::int64_t row, std::int64_t first) {
  using P = Pack<float, kVectorBytes / 4>;
  constexpr int L = kVectorBytes / 4;
  const SparseRows& m = p.matrix;
  for (; first < p.width; first += L) {
    const int tail = int(smaller(L, p.width - first));
    typename P::Vec total{};
    for (std::int64_t q = m.start[row]; q < m.start[row + 1]; ++q)
      total += m.value[q] * P::load(p.dense + m.column[q] * p.width + first, tail);
    P::store(p.out + row * p.width + first, total, tail);
  }
}

}  // namespace

// Each row of the product is one thread's work: same bits on any number of threads.
void sparse_product(const SparseProduct& p) {
#pragma omp parallel for schedule(dynamic, 64) num_threads(p.threads)
  for (std::int64_t row = 0; row < p.matrix.rows; ++row) {
    std::int64_t first = 0;
    for (; first + 4 * LANES <= p.width; first += 4 * LANES) row_block<4>(p, row, first);
    for (; first + LANES <= p.width; first += LANES) row_block<1>(p, row, first);
    if (first < p.width) row_rest(p, row, first);
  }
}

void keep_mask(const KeepMask& p) {
  const auto low = std::uint32_t(p.key), high = std::uint32_t(p.key >> 32);
#pragma omp parallel for simd schedule(static) num_threads(p.threads)
  for (std::int64_t i = 0; i < p.count; ++i)
    p.keep[i] = hash_position(std::uint32_t(i), low, high) >= p.threshold;
}

}  // namespace elasticgnn::ISA_NAMESPACE
