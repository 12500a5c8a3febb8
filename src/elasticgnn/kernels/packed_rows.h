// Registers that hold G = 16 / P rows of P floats.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__)

#include <immintrin.h>

#include <cstdint>

#include "vec.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// One row of P floats.
template <int P>
struct Row;

template <>
struct Row<4> {
  using Vec = __m128;
  static ELASTICGNN_INLINE Vec load(const float* row) { return _mm_loadu_ps(row); }
  static ELASTICGNN_INLINE Vec load(const float* row, unsigned lanes) { return _mm_maskz_loadu_ps(__mmask8(lanes), row); }
  static ELASTICGNN_INLINE void store(float* row, Vec v) { _mm_storeu_ps(row, v); }
  static ELASTICGNN_INLINE Vec sum(Vec v) {
    v += _mm_permute_ps(v, 0xB1);
    return v + _mm_permute_ps(v, 0x4E);
  }
};

template <>
struct Row<8> {
  using Vec = __m256;
  static ELASTICGNN_INLINE Vec load(const float* row) { return _mm256_loadu_ps(row); }
  static ELASTICGNN_INLINE Vec load(const float* row, unsigned lanes) { return _mm256_maskz_loadu_ps(__mmask8(lanes), row); }
  static ELASTICGNN_INLINE void store(float* row, Vec v) { _mm256_storeu_ps(row, v); }
  static ELASTICGNN_INLINE Vec sum(Vec v) {
    v += _mm256_permute_ps(v, 0xB1);
    v += _mm256_permute_ps(v, 0x4E);
    return v + _mm256_permute2f128_ps(v, v, 1);
  }
};

template <>
struct Row<16> {
  using Vec = __m512;
  static ELASTICGNN_INLINE Vec load(const float* row) { return _mm512_loadu_ps(row); }
  static ELASTICGNN_INLINE Vec load(const float* row, unsigned lanes) { return _mm512_maskz_loadu_ps(__mmask16(lanes), row); }
  static ELASTICGNN_INLINE void store(float* row, Vec v) { _mm512_storeu_ps(row, v); }
  static ELASTICGNN_INLINE Vec sum(Vec v) {
    v += _mm512_permute_ps(v, 0xB1);
    v += _mm512_permute_ps(v, 0x4E);
    v += _mm512_shuffle_f32x4(v, v, 0xB1);
    return v + _mm512_shuffle_f32x4(v, v, 0x4E);
  }
};

template <int P>
struct Packed {
  static constexpr int G = 16 / P;

  static ELASTICGNN_INLINE __m512 everywhere(const float* row) {
    if constexpr (P == 4) return _mm512_broadcast_f32x4(_mm_loadu_ps(row));
    else if constexpr (P == 8) return _mm512_broadcast_f32x8(_mm256_loadu_ps(row));
    else return _mm512_loadu_ps(row);
  }

  static ELASTICGNN_INLINE void store(float* row, __m512 value) {
    if constexpr (P == 4) _mm_storeu_ps(row, _mm512_castps512_ps128(value));
    else if constexpr (P == 8) _mm256_storeu_ps(row, _mm512_castps512_ps256(value));
    else _mm512_storeu_ps(row, value);
  }

  // Rows c[0] .. c[G - 1] of a table.
  static ELASTICGNN_INLINE __m512 gather(const float* table, const std::int32_t* c) {
    const auto at = [=](int g) { return table + std::int64_t(c[g]) * P; };
    if constexpr (P == 4) {
      __m512 rows = _mm512_castps128_ps512(_mm_loadu_ps(at(0)));
      rows = _mm512_insertf32x4(rows, _mm_loadu_ps(at(1)), 1);
      rows = _mm512_insertf32x4(rows, _mm_loadu_ps(at(2)), 2);
      return _mm512_insertf32x4(rows, _mm_loadu_ps(at(3)), 3);
    } else if constexpr (P == 8) {
      return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(at(0))), _mm256_loadu_ps(at(1)), 1);
    } else {
      return _mm512_loadu_ps(at(0));
    }
  }

  // Row number Which of a register.
  template <int Which>
  static ELASTICGNN_INLINE typename Row<P>::Vec row(__m512 v) {
    if constexpr (P == 4) return _mm512_extractf32x4_ps(v, Which);
    else if constexpr (P == 8) return _mm512_extractf32x8_ps(v, Which);
    else return v;
  }

  // The sum over the G rows of a register, in every one of them.
  static ELASTICGNN_INLINE __m512 across(__m512 v) {
    if constexpr (P <= 8) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4E));
    if constexpr (P <= 4) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xB1));
    return v;
  }

  // One number per row, in every one of its lanes.
  static ELASTICGNN_INLINE __m512 spread(const float* numbers) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 n = _mm512_maskz_loadu_ps(__mmask16((1u << G) - 1), numbers);
    return _mm512_permutexvar_ps(_mm512_srli_epi32(lane, P == 4 ? 2 : P == 8 ? 3 : 4), n);
  }

  // Sums of the rows of four registers. Every four lanes hold those of registers 0 .. 3; the four lanes
  // of a row's first quarter, half or whole are its place. kPlaces has one bit per row.
  static constexpr unsigned kPlaces = P == 4 ? 0xFFFF : P == 8 ? 0x0F0F : 0x000F;
  static ELASTICGNN_INLINE __m512 row_sums(const __m512* v) {
    const __m512 a = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
    const __m512 b = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
    __m512 sum = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xEE));
    if constexpr (P >= 8) sum = _mm512_add_ps(sum, _mm512_shuffle_f32x4(sum, sum, 0xB1));
    if constexpr (P >= 16) sum = _mm512_add_ps(sum, _mm512_shuffle_f32x4(sum, sum, 0x4E));
    return sum;
  }
  // The register `which` of what row_sums gives, in every lane of its rows.
  template <int Which>
  static ELASTICGNN_INLINE __m512 one_of(__m512 sums) {
    return _mm512_permute_ps(sums, Which * 0x55);
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE

#endif
