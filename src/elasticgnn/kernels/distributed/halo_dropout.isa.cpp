// Dropout masks by global position, so that a row's mask does not depend on which process holds it.
#include <cstdint>

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// hash_position of features/dropout.py
inline std::uint32_t hash_position(std::uint32_t h, std::uint64_t key) {
  h += std::uint32_t(key);
  h ^= h >> 16;
  h *= 0x7FEB352Du;
  h ^= (h >> 15) ^ std::uint32_t(key >> 32);
  h *= 0x846CA68Bu;
  return h ^ (h >> 16);
}

}  // namespace

// Row r holds the positions first[r], first[r] + 1, ..; its mask is keep[start[r]] .. keep[start[r
// + 1] - 1].
void halo_keep_mask(std::uint64_t key, std::uint32_t threshold, std::int64_t rows,
                    const std::int64_t* first, const std::int64_t* start, bool* keep, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t length = start[row + 1] - start[row];
    const std::uint32_t base = std::uint32_t(first[row]);
    bool* out = keep + start[row];
    for (std::int64_t k = 0; k < length; ++k)
      out[k] = hash_position(base + std::uint32_t(k), key) >= threshold;
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
