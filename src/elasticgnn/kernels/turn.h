// A small matrix turned over in registers: sixteen rows of a few numbers, or a few rows of sixteen.
#pragma once

#include "vec.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// Where the numbers of the turned matrix (Columns, Rows) lie in the matrix (Rows, Columns), both in vectors of 16.
template <int Rows, int Columns>
struct Turned {
  static constexpr int kVectors = Rows * Columns / 16;
  alignas(64) int lane[kVectors][16];
  unsigned short taken[kVectors][kVectors];  // the lanes of vector [0] that come from vector [1]

  constexpr Turned() : lane(), taken() {
    for (int to = 0; to < Rows * Columns; ++to) {
      const int from = to % Rows * Columns + to / Rows;
      lane[to / 16][to % 16] = from % 16;
      taken[to / 16][from / 16] |= static_cast<unsigned short>(1u << to % 16);
    }
  }
};

// to (Columns, Rows) = the turned from (Rows, Columns); false if the instruction set cannot.
template <int Rows, int Columns>
ELASTICGNN_INLINE bool turn(const float* from, float* to) {
#if defined(__AVX512F__)
  static constexpr Turned<Rows, Columns> turned;
  constexpr int kVectors = turned.kVectors;
  __m512 rows[kVectors];
#pragma GCC unroll 8
  for (int k = 0; k < kVectors; ++k) rows[k] = _mm512_loadu_ps(from + 16 * k);
#pragma GCC unroll 8
  for (int k = 0; k < kVectors; ++k) {
    const __m512i lane = _mm512_load_si512(turned.lane[k]);
    __m512 value = _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      if (turned.taken[k][v]) value = _mm512_mask_permutexvar_ps(value, turned.taken[k][v], lane, rows[v]);
    _mm512_storeu_ps(to + 16 * k, value);
  }
  return true;
#else
  (void)from, (void)to;
  return false;
#endif
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
