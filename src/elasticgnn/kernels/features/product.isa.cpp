// Loops of features/product.py and features/dropout.py, which state the same in plain torch.
// Callers have checked shapes, types and contiguity: nothing here throws.
#include "features/product.h"

#include "features/dropout.h"
#include "simd/sixteen.h"
#include "simd/vec.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

constexpr std::int64_t PRODUCT_ROWS = 64;

// What is summed for one row of the product: scale * value[k] * dense[column[k]].
struct Row {
  const std::int32_t* column;
  const float* value;
  std::int64_t count;
  float scale;
};

// The last columns of a row, fewer than a block.
void row_rest(const Row& row, const float* dense, std::int64_t width, std::int64_t first,
              float* out) {
  using P = Pack<float, kVectorBytes / 4>;
  constexpr int L = kVectorBytes / 4;
  for (; first < width; first += L) {
    const int tail = int(smaller(L, width - first));
    typename P::Vec total{};
    for (std::int64_t k = 0; k < row.count; ++k)
      total += row.value[k] * P::load(dense + row.column[k] * width + first, tail);
    P::store(out + first, row.scale * total, tail);
  }
}

void row_product(const Row& row, const float* dense, std::int64_t width, float* out) {
  const auto [column, value, count, scale] = row;
  std::int64_t at = 0;
  for (; at + 4 * LANES <= width; at += 4 * LANES)
    weighted_rows<4>(column, value, count, dense + at, width, scale, out + at);
  for (; at + LANES <= width; at += LANES)
    weighted_rows<1>(column, value, count, dense + at, width, scale, out + at);
  if (at < width) row_rest(row, dense, width, at, out);
}

// Rows begin .. end from what dropout leaves of them.
void dropped_rows(const DroppedProduct& p, std::int64_t begin, std::int64_t end,
                  KeptEntries& kept) {
  const SparseRows& m = p.matrix;
  kept.select(m.start[begin], m.start[end], p.key, p.threshold);
  std::int64_t from = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t to = kept.position(m.start[row + 1]);
    const Row left{kept.column.data + from, kept.value.data + from, to - from, p.scale};
    row_product(left, p.dense, p.width, p.out + row * p.width);
    from = to;
  }
}

}  // namespace

// Each row of the product is one thread's work: same bits on any number of threads.
void sparse_product(const SparseProduct& p) {
  const SparseRows& m = p.matrix;
#pragma omp parallel for schedule(dynamic, 64) num_threads(p.threads)
  for (std::int64_t row = 0; row < m.rows; ++row) {
    const std::int64_t q = m.start[row];
    const Row whole{m.column + q, m.value + q, m.start[row + 1] - q, 1.0f};
    row_product(whole, p.dense, p.width, p.out + row * p.width);
  }
}

void dropped_product(const DroppedProduct& p) {
  const std::int64_t rows = p.matrix.rows, tasks = (rows + PRODUCT_ROWS - 1) / PRODUCT_ROWS;
  const std::int64_t entries = most_entries(p.matrix, PRODUCT_ROWS);
#pragma omp parallel num_threads(p.threads)
  {
    KeptEntries kept(p.matrix, entries);
#pragma omp for schedule(dynamic)
    for (std::int64_t task = 0; task < tasks; ++task) {
      const std::int64_t begin = task * PRODUCT_ROWS;
      dropped_rows(p, begin, smaller(rows, begin + PRODUCT_ROWS), kept);
    }
  }
}

void keep_mask(const KeepMask& p) {
#pragma omp parallel for simd schedule(static) num_threads(p.threads)
  for (std::int64_t i = 0; i < p.count; ++i)
    p.keep[i] = hash_position(std::uint32_t(i), p.key) >= p.threshold;
}

void keep_rows(const KeepRows& p) {
#pragma omp parallel for schedule(static) num_threads(p.threads)
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const auto first = std::uint32_t(p.first[row]);  // positions count modulo 2^32
    const std::int64_t length = p.start[row + 1] - p.start[row];
    std::uint8_t* keep = p.keep + p.start[row];
    for (std::int64_t k = 0; k < length; ++k)
      keep[k] = hash_position(first + std::uint32_t(k), p.key) >= p.threshold;
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
