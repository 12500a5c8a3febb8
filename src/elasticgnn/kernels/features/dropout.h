// The entries of some rows that survive dropout, side by side.
#pragma once

#include "simd/sixteen.h"
#include "features/problem.h"
#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace elasticgnn::ISA_NAMESPACE {
namespace {

// Sixteen entries at a time; dropped ones are overwritten by the next kept one.
struct KeptEntries {
  const SparseRows& matrix;
  Zeroed<std::int32_t> column;
  Zeroed<float> value;
  Zeroed<std::int32_t> count;  // kept entries before each group of sixteen
  Zeroed<std::uint16_t> bits;  // which of a group are kept
  std::int64_t first = 0;      // entry of the first group

  KeptEntries(const SparseRows& m, std::int64_t entries)
      : matrix(m),
        column(entries + LANES),
        value(entries + LANES),
        count(entries / LANES + 2),
        bits(entries / LANES + 2) {}

  // Position among the kept entries of the first one at or behind entry `q`.
  std::int64_t position(std::int64_t q) const {
    const std::int64_t group = (q - first) / LANES, lane = (q - first) % LANES;
    const unsigned before = bits.data[group] & ((1u << lane) - 1u);
    return count.data[group] + __builtin_popcount(before);
  }

  void select(std::int64_t begin, std::int64_t end, std::uint64_t key, std::uint32_t threshold) {
    first = begin;
    std::int64_t kept = 0, group = 0;
    for (std::int64_t q = begin; q < end; q += LANES, ++group) {
      const unsigned chosen = end - q < LANES ? part(q, int(end - q), key, threshold, kept)
                                              : whole(q, key, threshold, kept);
      count.data[group] = std::int32_t(kept);
      bits.data[group] = std::uint16_t(chosen);
      kept += __builtin_popcount(chosen);
    }
    count.data[group] = std::int32_t(kept);
    bits.data[group] = 0;
  }

 private:
  unsigned part(std::int64_t q, int lanes, std::uint64_t key, std::uint32_t threshold,
                std::int64_t kept) {
    unsigned chosen = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      const auto entry = std::uint32_t(matrix.entry ? matrix.entry[q + lane] : q + lane);
      const bool keep = hash_position(entry, key) >= threshold;
      column.data[kept] = matrix.column[q + lane];
      value.data[kept] = matrix.value[q + lane];
      kept += keep;
      chosen |= unsigned(keep) << lane;
    }
    return chosen;
  }

#ifdef __AVX512F__
  unsigned whole(std::int64_t q, std::uint64_t key, std::uint32_t threshold, std::int64_t kept) {
    const Words16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const Words16 entry = matrix.entry ? reinterpret_cast<const UnalignedWords&>(matrix.entry[q])
                                       : lanes + std::uint32_t(q);
    const __mmask16 chosen = _mm512_cmpge_epu32_mask(
        reinterpret_cast<__m512i>(hash_position(entry, key)), _mm512_set1_epi32(int(threshold)));
    _mm512_storeu_si512(column.data + kept,
                        _mm512_maskz_compress_epi32(chosen, _mm512_loadu_si512(matrix.column + q)));
    _mm512_storeu_ps(value.data + kept,
                     _mm512_maskz_compress_ps(chosen, _mm512_loadu_ps(matrix.value + q)));
    return chosen;
  }
#else
  unsigned whole(std::int64_t q, std::uint64_t key, std::uint32_t threshold, std::int64_t kept) {
    return part(q, LANES, key, threshold, kept);
  }
#endif
};

}  // namespace
}  // namespace elasticgnn::ISA_NAMESPACE
