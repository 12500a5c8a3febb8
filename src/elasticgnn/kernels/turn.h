// Sixteen rows of a few numbers turned over in registers: number c of every row becomes vector c, and back.
#pragma once

#include "vec.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

#if defined(__AVX512F__)

// Four vectors as 4 x 4 matrices, one in each quarter: all of them turned over.
ELASTICGNN_INLINE void turn_quarters(__m512& a, __m512& b, __m512& c, __m512& d) {
  const __m512d low_ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)), high_ab = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
  const __m512d low_cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d)), high_cd = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
  a = _mm512_castpd_ps(_mm512_unpacklo_pd(low_ab, low_cd)), b = _mm512_castpd_ps(_mm512_unpackhi_pd(low_ab, low_cd));
  c = _mm512_castpd_ps(_mm512_unpacklo_pd(high_ab, high_cd)), d = _mm512_castpd_ps(_mm512_unpackhi_pd(high_ab, high_cd));
}

// rows (16, Width) -> lanes (Width, 16). Each vector begins as two rows that are four apart, eight numbers for each.
template <int Width>
ELASTICGNN_INLINE bool rows_to_lanes(const float* rows, float* lanes) {
  constexpr __mmask16 kRow = (1 << Width) - 1;
  __m512 half[2][4];
#pragma GCC unroll 8
  for (int r = 0; r < 8; ++r) {
    const float* const row = rows + (r / 4 * 8 + r % 4) * Width;
    half[r / 4][r % 4] = _mm512_mask_broadcast_f32x8(_mm512_maskz_loadu_ps(kRow, row), __mmask16(kRow << 8),
                                                     _mm256_maskz_loadu_ps(__mmask8(kRow), row + 4 * Width));
  }
  for (auto& four : half) turn_quarters(four[0], four[1], four[2], four[3]);
#pragma GCC unroll 8
  for (int c = 0; c < Width; ++c)
    _mm512_storeu_ps(lanes + 16 * c, c < 4 ? _mm512_shuffle_f32x4(half[0][c % 4], half[1][c % 4], 0x88)
                                           : _mm512_shuffle_f32x4(half[0][c % 4], half[1][c % 4], 0xdd));
  return true;
}

// lanes (Width, 16) -> rows (16, Width), the same backwards.
template <int Width>
ELASTICGNN_INLINE bool lanes_to_rows(const float* lanes, float* rows) {
  constexpr __mmask8 kRow = (1 << Width) - 1;
  __m512 half[2][4];
#pragma GCC unroll 8
  for (int c = 0; c < 4; ++c) {
    const __m512 low = c < Width ? _mm512_loadu_ps(lanes + 16 * c) : _mm512_setzero_ps();
    const __m512 high = c + 4 < Width ? _mm512_loadu_ps(lanes + 16 * (c + 4)) : _mm512_setzero_ps();
    half[0][c] = _mm512_shuffle_f32x4(low, high, 0x44), half[1][c] = _mm512_shuffle_f32x4(low, high, 0xee);
  }
  for (auto& four : half) turn_quarters(four[0], four[1], four[2], four[3]);
#pragma GCC unroll 8
  for (int r = 0; r < 8; ++r) {
    float* const row = rows + (r / 4 * 8 + r % 4) * Width;
    const __m512 two = _mm512_shuffle_f32x4(half[r / 4][r % 4], half[r / 4][r % 4], 0xd8);
    _mm256_mask_storeu_ps(row, kRow, _mm512_castps512_ps256(two));
    _mm256_mask_storeu_ps(row + 4 * Width, kRow, _mm512_extractf32x8_ps(two, 1));
  }
  return true;
}

#else  // left to plain loops

template <int Width>
bool rows_to_lanes(const float*, float*) { return false; }
template <int Width>
bool lanes_to_rows(const float*, float*) { return false; }

#endif

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
