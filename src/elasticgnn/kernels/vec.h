// Short vectors of L numbers, with loads and stores of the first `tail` lanes only: rows of any width
// are read and written exactly, so nothing is padded and nothing outside a row is touched.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ELASTICGNN_INLINE inline __attribute__((always_inline))

namespace elasticgnn::ISA_NAMESPACE {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

ELASTICGNN_INLINE float square_root(float value) { return __builtin_sqrtf(value); }
ELASTICGNN_INLINE double square_root(double value) { return __builtin_sqrt(value); }

template <class T, int L>
struct Pack {
  typedef T Vec __attribute__((vector_size(sizeof(T) * L)));

  static ELASTICGNN_INLINE Vec splat(T value) { return Vec{} + value; }

  static ELASTICGNN_INLINE Vec load(const T* from) {
    Vec value;
    std::memcpy(&value, from, sizeof(Vec));
    return value;
  }

  static ELASTICGNN_INLINE void store(T* to, Vec value) { std::memcpy(to, &value, sizeof(Vec)); }

  // The first `tail` numbers (1 <= tail <= L), zeros behind them.
  static ELASTICGNN_INLINE Vec load(const T* from, int tail) {
#if defined(__AVX512F__)
    const unsigned bits = (1u << tail) - 1u;
    if constexpr (sizeof(T) == 4 && L == 16) return (Vec)_mm512_maskz_loadu_ps(__mmask16(bits), from);
    if constexpr (sizeof(T) == 4 && L == 8) return (Vec)_mm256_maskz_loadu_ps(__mmask8(bits), from);
    if constexpr (sizeof(T) == 4 && L == 4) return (Vec)_mm_maskz_loadu_ps(__mmask8(bits), from);
    if constexpr (sizeof(T) == 8 && L == 8) return (Vec)_mm512_maskz_loadu_pd(__mmask8(bits), from);
    if constexpr (sizeof(T) == 8 && L == 4) return (Vec)_mm256_maskz_loadu_pd(__mmask8(bits), from);
#endif
    if (tail == L) return load(from);
    Vec value{};
    for (int lane = 0; lane < L - 1; ++lane)
      if (lane < tail) value[lane] = from[lane];
    return value;
  }

  static ELASTICGNN_INLINE void store(T* to, Vec value, int tail) {
#if defined(__AVX512F__)
    const unsigned bits = (1u << tail) - 1u;
    if constexpr (sizeof(T) == 4 && L == 16) return _mm512_mask_storeu_ps(to, __mmask16(bits), (__m512)value);
    if constexpr (sizeof(T) == 4 && L == 8) return _mm256_mask_storeu_ps(to, __mmask8(bits), (__m256)value);
    if constexpr (sizeof(T) == 4 && L == 4) return _mm_mask_storeu_ps(to, __mmask8(bits), (__m128)value);
    if constexpr (sizeof(T) == 8 && L == 8) return _mm512_mask_storeu_pd(to, __mmask8(bits), (__m512d)value);
    if constexpr (sizeof(T) == 8 && L == 4) return _mm256_mask_storeu_pd(to, __mmask8(bits), (__m256d)value);
#endif
    if (tail == L) return store(to, value);
    for (int lane = 0; lane < L - 1; ++lane)
      if (lane < tail) to[lane] = value[lane];
  }

  // Sum of all lanes: halves are folded, so the order of additions depends on L alone.
  static ELASTICGNN_INLINE T sum(Vec value) {
    if constexpr (L == 2) {
      return value[0] + value[1];
    } else {
      using Half = Pack<T, L / 2>;
      typename Half::Vec low, high;
      if constexpr (L == 4) {
        low = __builtin_shufflevector(value, value, 0, 1);
        high = __builtin_shufflevector(value, value, 2, 3);
      } else if constexpr (L == 8) {
        low = __builtin_shufflevector(value, value, 0, 1, 2, 3);
        high = __builtin_shufflevector(value, value, 4, 5, 6, 7);
      } else {
        low = __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7);
        high = __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15);
      }
      return Half::sum(low + high);
    }
  }

  static ELASTICGNN_INLINE Vec root(Vec value) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4 && L == 16) return (Vec)_mm512_sqrt_ps((__m512)value);
    if constexpr (sizeof(T) == 8 && L == 8) return (Vec)_mm512_sqrt_pd((__m512d)value);
#endif
    for (int lane = 0; lane < L; ++lane) value[lane] = square_root(value[lane]);
    return value;
  }
  static ELASTICGNN_INLINE Vec least(Vec a, Vec b) { return a < b ? a : b; }
  static ELASTICGNN_INLINE Vec most(Vec a, Vec b) { return a > b ? a : b; }
};

}  // namespace elasticgnn::ISA_NAMESPACE
