// Registers that hold three rows of 5 floats, in 15 lanes: two rows padded to 8 would leave six of
// sixteen unused, and a dual that streams would be half as long again. The first row begins at lane
// 0, the second at lane 8, and the third has the lanes that both leave: 5 to 7 and 13 to 14. Lane
// 15 is 0.
#pragma once

#include "emp/packed/rows.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)

namespace elasticgnn::ISA_NAMESPACE {

namespace {

struct Three {
  static constexpr unsigned kLanes[3] = {0x001F, 0x1F00, 0x60E0};  // of each row

  // Two rows padded to 8, and the one at `third` in the lanes that they leave.
  static ELASTICGNN_INLINE __m512 join(__m512 two, const float* third) {
    const __m512i channel = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 3, 4, 5);
    return _mm512_mask_permutexvar_ps(two, 0xE0E0, channel,
                                      _mm512_castps256_ps512(_mm256_loadu_ps(third)));
  }
  // The third row, padded to 8.
  static ELASTICGNN_INLINE __m512 third(__m512 rows) {
    const __m512i lane = _mm512_setr_epi32(5, 6, 7, 13, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm512_maskz_permutexvar_ps(kLanes[0], lane, rows);
  }
  // One row in all three places.
  static ELASTICGNN_INLINE __m512 repeat(const float* row) {
    const __m512i channel = _mm512_setr_epi32(0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3, 4, 3, 4, 5);
    return _mm512_permutexvar_ps(channel, _mm512_castps256_ps512(_mm256_loadu_ps(row)));
  }
  // Numbers a, b and c of a register in every lane of the first, second and third row.
  static ELASTICGNN_INLINE __m512 spread(__m512 numbers, int a, int b, int c) {
    return _mm512_permutexvar_ps(_mm512_setr_epi32(a, a, a, a, a, c, c, c, b, b, b, b, b, c, c, c),
                                 numbers);
  }
  static ELASTICGNN_INLINE __m512 spread(const float* numbers) {
    return spread(_mm512_maskz_loadu_ps(0x0007, numbers), 0, 1, 2);
  }
};

template <>
struct Packed<5> {
  static constexpr int kLanes = 5, G = 3;

  static ELASTICGNN_INLINE __m512 gather(const float* table, const std::int32_t* c) {
    return Three::join(Packed<8>::gather(table, c), table + c[2]);
  }
  static ELASTICGNN_INLINE __m512 spread(const float* numbers) { return Three::spread(numbers); }

  // A row's place: the lanes 0 to 3, 8 to 11, and 4 to 7.
  static constexpr unsigned kPlaces = 0x0FFF;
  static ELASTICGNN_INLINE __m512 row_sums(const __m512* v) {
    const __m512 a = _mm512_unpacklo_ps(v[0], v[1]), b = _mm512_unpackhi_ps(v[0], v[1]);
    const __m512 c = _mm512_unpacklo_ps(v[2], v[3]), d = _mm512_unpackhi_ps(v[2], v[3]);
    const __m512 first = _mm512_shuffle_ps(a, c, 0x44),
                 second = _mm512_shuffle_ps(a, c, 0xEE);  // of every four lanes
    const __m512 others =
        _mm512_add_ps(_mm512_shuffle_ps(b, d, 0x44), _mm512_shuffle_ps(b, d, 0xEE));
    const __m512 most = _mm512_add_ps(second, others);
    // lanes 4 and 12 end the first and the second row; the others behind them are the third
    const __m512 ends = _mm512_mask_shuffle_f32x4(_mm512_shuffle_f32x4(first, first, 0xB1), 0xF0F0,
                                                  most, most, 0x4C);
    return _mm512_add_ps(_mm512_mask_add_ps(most, 0x0F0F, most, first), ends);
  }
  static ELASTICGNN_INLINE __mmask16 lanes_of(unsigned mask, int r, std::int64_t) {
    const auto lanes = [=](int place, int row) {
      return -(mask >> (place + r) & 1) & Three::kLanes[row];
    };
    return __mmask16(lanes(0, 0) | lanes(8, 1) | lanes(4, 2));
  }
  static ELASTICGNN_INLINE __m512 from_places(__m512 v) { return v; }
  template <int Which>
  static ELASTICGNN_INLINE __m512 one_of(__m512 sums) {
    return Three::spread(sums, Which, 8 + Which, 4 + Which);
  }
};

// One node with three rows, or three with one each.
template <int Share>
struct Nodes<5, Share> {
  static ELASTICGNN_INLINE __m512 load(const float* rows) {
    if constexpr (Share == 1) return Three::repeat(rows);
    return Three::join(_mm512_loadu_ps(rows), rows + 2 * kRow<5>);
  }
  static ELASTICGNN_INLINE void store(float* rows, __m512 value) {
    const __m512 padded = _mm512_maskz_mov_ps(Three::kLanes[0] | Three::kLanes[1], value);
    if constexpr (Share == 1) return _mm256_storeu_ps(rows, _mm512_castps512_ps256(padded));
    _mm512_storeu_ps(rows, padded);
    _mm256_storeu_ps(rows + 2 * kRow<5>, _mm512_castps512_ps256(Three::third(value)));
  }
  static ELASTICGNN_INLINE __m512 sum(__m512 v) {
    if constexpr (Share > 1) return v;
    return _mm512_add_ps(_mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4E)), Three::third(v));
  }
  static ELASTICGNN_INLINE __m512 spread(const float* numbers) {
    if constexpr (Share == 1) return _mm512_set1_ps(*numbers);
    return Three::spread(numbers);
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE

#endif
