// Registers that hold G = 16 / P rows of P floats: here those of 4, 8 and 16, one behind the other
// (emp/packed/five.h has those of 5). In memory a row begins at a multiple of kRow<P> floats, and
// what is behind its numbers is 0.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__)

#include <immintrin.h>

#include <cstdint>

#include "simd/vec.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <int P>
constexpr int kRow = P == 5 ? 8 : P;

// `Count` numbers, each in every lane of its part of the register.
template <int Count>
ELASTICGNN_INLINE __m512 spread_numbers(const float* numbers) {
  if constexpr (Count == 1) return _mm512_set1_ps(*numbers);
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512 n = _mm512_maskz_loadu_ps(__mmask16((1u << Count) - 1), numbers);
  return _mm512_permutexvar_ps(_mm512_srli_epi32(lane, Count == 4 ? 2 : 3), n);
}

template <int P>
struct Packed {
  static constexpr int kLanes = P, G = 16 / P;

  // The rows of a table that begin at c[0] .. c[G - 1].
  static ELASTICGNN_INLINE __m512 gather(const float* table, const std::int32_t* c) {
    const auto at = [=](int g) { return table + c[g]; };
    if constexpr (P == 4) {
      __m512 rows = _mm512_castps128_ps512(_mm_loadu_ps(at(0)));
      rows = _mm512_insertf32x4(rows, _mm_loadu_ps(at(1)), 1);
      rows = _mm512_insertf32x4(rows, _mm_loadu_ps(at(2)), 2);
      return _mm512_insertf32x4(rows, _mm_loadu_ps(at(3)), 3);
    } else if constexpr (P == 8) {
      return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(at(0))),
                                _mm256_loadu_ps(at(1)), 1);
    } else {
      return _mm512_loadu_ps(at(0));
    }
  }

  // One number per row, in every one of its lanes.
  static ELASTICGNN_INLINE __m512 spread(const float* numbers) {
    return spread_numbers<G>(numbers);
  }

  // Sums of the rows of four registers. Every four lanes hold those of registers 0 .. 3; the four
  // lanes of a row's first quarter, half or whole are its place. kPlaces has one bit per row.
  static constexpr unsigned kPlaces = P == 4 ? 0xFFFF : P == 8 ? 0x0F0F : 0x000F;
  static ELASTICGNN_INLINE __m512 row_sums(const __m512* v) {
    const __m512 a = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
    const __m512 b = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
    __m512 sum = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xEE));
    if constexpr (P >= 8) sum = _mm512_add_ps(sum, _mm512_shuffle_f32x4(sum, sum, 0xB1));
    if constexpr (P >= 16) sum = _mm512_add_ps(sum, _mm512_shuffle_f32x4(sum, sum, 0x4E));
    return sum;
  }
  // The first `width` lanes of those rows of register r that `mask` names; their bits are r lanes
  // behind each row's first.
  static ELASTICGNN_INLINE __mmask16 lanes_of(unsigned mask, int r, std::int64_t width) {
    constexpr unsigned kRows = P == 4 ? 0x1111 : P == 8 ? 0x0101 : 0x0001;
    return __mmask16((mask >> r & kRows) * ((1u << width) - 1));
  }
  // Numbers at the rows' places, at every four lanes of the row.
  static ELASTICGNN_INLINE __m512 from_places(__m512 v) {
    if constexpr (P == 8) return _mm512_shuffle_f32x4(v, v, 0xA0);
    if constexpr (P == 16) return _mm512_shuffle_f32x4(v, v, 0x00);
    return v;
  }
  // The register `which` of what row_sums gives, in every lane of its rows.
  template <int Which>
  static ELASTICGNN_INLINE __m512 one_of(__m512 sums) {
    return _mm512_permute_ps(sums, Which * 0x55);
  }
};

// A register of Share neighbouring nodes, each with G / Share of its rows.
template <int P, int Share>
struct Nodes {
  static constexpr int kEach = Packed<P>::G / Share;  // 1, 2 or 4

  // Each node's row, in all of its places.
  static ELASTICGNN_INLINE __m512 load(const float* rows) {
    if constexpr (kEach == 1) return _mm512_loadu_ps(rows);
    else if constexpr (P == 8) return _mm512_broadcast_f32x8(_mm256_loadu_ps(rows));
    else if constexpr (kEach == 4) return _mm512_broadcast_f32x4(_mm_loadu_ps(rows));
    else
      return _mm512_shuffle_f32x4(_mm512_castps256_ps512(_mm256_loadu_ps(rows)),
                                  _mm512_castps256_ps512(_mm256_loadu_ps(rows)), 0x50);
  }

  // The first place of each node.
  static ELASTICGNN_INLINE void store(float* rows, __m512 value) {
    if constexpr (kEach == 1) _mm512_storeu_ps(rows, value);
    else if constexpr (P == 8) _mm256_storeu_ps(rows, _mm512_castps512_ps256(value));
    else if constexpr (kEach == 4) _mm_storeu_ps(rows, _mm512_castps512_ps128(value));
    else _mm256_storeu_ps(rows, _mm512_castps512_ps256(_mm512_shuffle_f32x4(value, value, 0x08)));
  }

  // The sum over each node's places, in the first at least.
  static ELASTICGNN_INLINE __m512 sum(__m512 v) {
    if constexpr (kEach == 4 || (kEach == 2 && P == 8))
      v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4E));
    if constexpr (kEach >= 2 && P == 4) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xB1));
    return v;
  }

  static ELASTICGNN_INLINE __m512 spread(const float* numbers) {
    return spread_numbers<Share>(numbers);
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE

#endif
