// Sixteen or eight rows of a few numbers transposed in registers: number c of every row becomes
// vector c, and back.
#pragma once

#include "simd/vec.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

#if defined(__AVX512F__)

// Four vectors as 4 x 4 matrices, one in each quarter: all of them transposed.
ELASTICGNN_INLINE void transpose_quarters(__m512& a, __m512& b, __m512& c, __m512& d) {
  const __m512d low_ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)),
                high_ab = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
  const __m512d low_cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d)),
                high_cd = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
  a = _mm512_castpd_ps(_mm512_unpacklo_pd(low_ab, low_cd)),
  b = _mm512_castpd_ps(_mm512_unpackhi_pd(low_ab, low_cd));
  c = _mm512_castpd_ps(_mm512_unpacklo_pd(high_ab, high_cd)),
  d = _mm512_castpd_ps(_mm512_unpackhi_pd(high_ab, high_cd));
}

// rows (Lanes, Width) -> lanes (Width, Lanes). Each vector begins as two rows that are four apart,
// eight numbers for each.
template <int Lanes, int Width>
ELASTICGNN_INLINE bool rows_to_lanes(const float* rows, float* lanes) {
  constexpr __mmask16 kRow = (1 << Width) - 1;
  __m512 eight[Lanes / 8][4];
#pragma GCC unroll 8
  for (int r = 0; r < Lanes / 2; ++r) {
    const float* const row = rows + (r / 4 * 8 + r % 4) * Width;
    eight[r / 4][r % 4] =
        _mm512_mask_broadcast_f32x8(_mm512_maskz_loadu_ps(kRow, row), __mmask16(kRow << 8),
                                    _mm256_maskz_loadu_ps(__mmask8(kRow), row + 4 * Width));
  }
  for (auto& four : eight) transpose_quarters(four[0], four[1], four[2], four[3]);
#pragma GCC unroll 8
  for (int c = 0; c < Width; ++c) {
    const __m512 low = eight[0][c % 4], high = eight[Lanes / 8 - 1][c % 4];
    const __m512 transposed =
        c < 4 ? _mm512_shuffle_f32x4(low, high, 0x88) : _mm512_shuffle_f32x4(low, high, 0xdd);
    if constexpr (Lanes == 16) _mm512_storeu_ps(lanes + 16 * c, transposed);
    else _mm256_storeu_ps(lanes + 8 * c, _mm512_castps512_ps256(transposed));
  }
  return true;
}

// lanes (Width, Lanes) -> rows (Lanes, Width), the same backwards.
template <int Lanes, int Width>
ELASTICGNN_INLINE bool lanes_to_rows(const float* lanes, float* rows) {
  constexpr __mmask8 kRow = (1 << Width) - 1;
  const auto load = [&](int c) ELASTICGNN_INLINE_LAMBDA {
    if (c >= Width) return _mm512_setzero_ps();
    if constexpr (Lanes == 16) return _mm512_loadu_ps(lanes + 16 * c);
    else return _mm512_castps256_ps512(_mm256_loadu_ps(lanes + 8 * c));
  };
  __m512 eight[Lanes / 8][4];
#pragma GCC unroll 8
  for (int c = 0; c < 4; ++c) {
    eight[0][c] = _mm512_shuffle_f32x4(load(c), load(c + 4), 0x44);
    if constexpr (Lanes == 16) eight[1][c] = _mm512_shuffle_f32x4(load(c), load(c + 4), 0xee);
  }
  for (auto& four : eight) transpose_quarters(four[0], four[1], four[2], four[3]);
#pragma GCC unroll 8
  for (int r = 0; r < Lanes / 2; ++r) {
    float* const row = rows + (r / 4 * 8 + r % 4) * Width;
    const __m512 two = _mm512_shuffle_f32x4(eight[r / 4][r % 4], eight[r / 4][r % 4], 0xd8);
    _mm256_mask_storeu_ps(row, kRow, _mm512_castps512_ps256(two));
    _mm256_mask_storeu_ps(row + 4 * Width, kRow, _mm512_extractf32x8_ps(two, 1));
  }
  return true;
}

#else  // left to plain loops

template <int Lanes, int Width>
bool rows_to_lanes(const float*, float*) {
  return false;
}
template <int Lanes, int Width>
bool lanes_to_rows(const float*, float*) {
  return false;
}

#endif

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
