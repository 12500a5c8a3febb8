// Short vectors of L numbers, with loads and stores of the first `tail` lanes only: rows of any
// width are read and written exactly, so nothing is padded and nothing outside a row is touched.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ELASTICGNN_INLINE inline __attribute__((always_inline))
#define ELASTICGNN_INLINE_LAMBDA __attribute__((always_inline))

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

  // Written as a difference because 0 + (-0) is not -0, which would cost an addition.
  static ELASTICGNN_INLINE Vec splat(T value) { return value - Vec{}; }

  static ELASTICGNN_INLINE Vec load(const T* from) {
    Vec value;
    std::memcpy(&value, from, sizeof(Vec));
    return value;
  }

  static ELASTICGNN_INLINE void store(T* to, Vec value) { std::memcpy(to, &value, sizeof(Vec)); }

  // The same past the caches, to an aligned address; `finish_streams` before another thread may
  // read it.
  static ELASTICGNN_INLINE void stream(T* to, Vec value) {
#if defined(__AVX512F__)
    if constexpr (sizeof(Vec) == 64) return _mm512_stream_si512((__m512i*)to, (__m512i)value);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(Vec) == 32) return _mm256_stream_si256((__m256i*)to, (__m256i)value);
#endif
    store(to, value);
  }
  static void finish_streams() {
#if defined(__AVX2__)
    _mm_sfence();
#endif
  }

  // The first `tail` numbers (1 <= tail <= L), zeros behind them.
  static ELASTICGNN_INLINE Vec load(const T* from, int tail) {
#if defined(__AVX512F__)
    const unsigned bits = _bzhi_u32(~0u, unsigned(tail));
    if constexpr (sizeof(T) == 4 && L == 16)
      return (Vec)_mm512_maskz_loadu_ps(__mmask16(bits), from);
    if constexpr (sizeof(T) == 4 && L == 8) return (Vec)_mm256_maskz_loadu_ps(__mmask8(bits), from);
    if constexpr (sizeof(T) == 4 && L == 4) return (Vec)_mm_maskz_loadu_ps(__mmask8(bits), from);
    if constexpr (sizeof(T) == 8 && L == 8) return (Vec)_mm512_maskz_loadu_pd(__mmask8(bits), from);
    if constexpr (sizeof(T) == 8 && L == 4) return (Vec)_mm256_maskz_loadu_pd(__mmask8(bits), from);
#endif
#if defined(__AVX2__)
    constexpr bool kFloat8 = sizeof(T) == 4 && L == 8, kDouble4 = sizeof(T) == 8 && L == 4;
    if constexpr (kFloat8)
      return (Vec)_mm256_maskload_ps(
          from,
          _mm256_cmpgt_epi32(_mm256_set1_epi32(tail), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    if constexpr (kDouble4)
      return (Vec)_mm256_maskload_pd(
          from, _mm256_cmpgt_epi64(_mm256_set1_epi64x(tail), _mm256_setr_epi64x(0, 1, 2, 3)));
#endif
    if (tail >= L) return load(from);
    Vec value{};
    for (int lane = 0; lane < L - 1; ++lane)
      if (lane < tail) value[lane] = from[lane];
    return value;
  }

  // Exactly `tail` numbers, in pieces. A masked store would do in one instruction, but the CPU
  // takes it for a store of all L numbers: the load of the next row then waits for the whole chain
  // before it.
  static ELASTICGNN_INLINE void store(T* to, Vec value, int tail) {
    if (tail >= L) return store(to, value);
    if constexpr (L == 2) {
      to[0] = value[0];
    } else {
      using Half = Pack<T, L / 2>;
      if (tail >= L / 2) {
        Half::store(to, low(value));
        if (tail > L / 2) Half::store(to + L / 2, high(value), tail - L / 2);
      } else {
        Half::store(to, low(value), tail);
      }
    }
  }

  using HalfVec = typename std::conditional_t<(L > 2), Pack<T, L / 2>, Pack<T, L>>::Vec;
  static ELASTICGNN_INLINE HalfVec low(Vec value) {
    if constexpr (L == 4) return __builtin_shufflevector(value, value, 0, 1);
    if constexpr (L == 8) return __builtin_shufflevector(value, value, 0, 1, 2, 3);
    if constexpr (L == 16) return __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  static ELASTICGNN_INLINE HalfVec high(Vec value) {
    if constexpr (L == 4) return __builtin_shufflevector(value, value, 2, 3);
    if constexpr (L == 8) return __builtin_shufflevector(value, value, 4, 5, 6, 7);
    if constexpr (L == 16)
      return __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15);
  }

  // Sum of all lanes: halves are folded, so the order of additions depends on L alone.
  static ELASTICGNN_INLINE T sum(Vec value) {
    if constexpr (L == 2) return value[0] + value[1];
    else return Pack<T, L / 2>::sum(low(value) + high(value));
  }

#if defined(__AVX512F__)
  static constexpr bool kFastRoot = sizeof(T) == 4;
#else
  static constexpr bool kFastRoot = false;
#endif
  // numerator / sqrt(value) to about 26 bits, with a root of at least 1e-18: 0 and subnormal
  // numbers count as 1e-36. NaN stays NaN.
  static ELASTICGNN_INLINE Vec over_root(Vec numerator, Vec value) {
    value = most(splat(T(1e-36)), value);
    Vec guess{};
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4 && L == 16) guess = (Vec)_mm512_rsqrt14_ps((__m512)value);
    if constexpr (sizeof(T) == 4 && L == 8) guess = (Vec)_mm256_rsqrt14_ps((__m256)value);
    if constexpr (sizeof(T) == 4 && L == 4) guess = (Vec)_mm_rsqrt14_ps((__m128)value);
#endif
    return (numerator * guess) * (T(1.5) - (T(0.5) * value * guess) * guess);
  }
  // The sum of all lanes, in every lane.
  static ELASTICGNN_INLINE Vec sum_everywhere(Vec value) {
    if constexpr (L == 16) {
      value += __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5,
                                       6, 7);
      value += __builtin_shufflevector(value, value, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9,
                                       10, 11);
      value += __builtin_shufflevector(value, value, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15,
                                       12, 13);
      return value + __builtin_shufflevector(value, value, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13,
                                             12, 15, 14);
    }
    if constexpr (L == 8) {
      value += __builtin_shufflevector(value, value, 4, 5, 6, 7, 0, 1, 2, 3);
      value += __builtin_shufflevector(value, value, 2, 3, 0, 1, 6, 7, 4, 5);
      return value + __builtin_shufflevector(value, value, 1, 0, 3, 2, 5, 4, 7, 6);
    }
    if constexpr (L == 4) {
      value += __builtin_shufflevector(value, value, 2, 3, 0, 1);
      return value + __builtin_shufflevector(value, value, 1, 0, 3, 2);
    }
    if constexpr (L == 2) return value + __builtin_shufflevector(value, value, 1, 0);
  }

  // The sums of all lanes of four vectors, as the four numbers of every quarter of 16 bytes.
  static ELASTICGNN_INLINE Vec sums_of_four(Vec a, Vec b, Vec c, Vec d) {
    static_assert(sizeof(T) == 4, "a quarter holds four numbers");
    if constexpr (L == 16) {
      const Vec ab =
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
          __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
      const Vec cd =
          __builtin_shufflevector(c, d, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
          __builtin_shufflevector(c, d, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
      Vec sums = __builtin_shufflevector(ab, cd, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13,
                                         28, 29) +
                 __builtin_shufflevector(ab, cd, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15,
                                         30, 31);
      sums +=
          __builtin_shufflevector(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
      return sums + __builtin_shufflevector(sums, sums, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8,
                                            9, 10, 11);
    }
    if constexpr (L == 8) {
      const Vec ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
                     __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
      const Vec cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13) +
                     __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
      const Vec sums = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                       __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
      return sums + __builtin_shufflevector(sums, sums, 4, 5, 6, 7, 0, 1, 2, 3);
    }
    return a;
  }
  // Number k of every quarter, in all its lanes.
  template <int k>
  static ELASTICGNN_INLINE Vec of_quarters(Vec value) {
    if constexpr (L == 16)
      return __builtin_shufflevector(value, value, k, k, k, k, k + 4, k + 4, k + 4, k + 4, k + 8,
                                     k + 8, k + 8, k + 8, k + 12, k + 12, k + 12, k + 12);
    if constexpr (L == 8)
      return __builtin_shufflevector(value, value, k, k, k, k, k + 4, k + 4, k + 4, k + 4);
    return value;
  }

  // A bit for each lane: a < b.
  static ELASTICGNN_INLINE unsigned below(Vec a, Vec b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4 && L == 16)
      return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
    if constexpr (sizeof(T) == 4 && L == 8)
      return _mm256_cmp_ps_mask((__m256)a, (__m256)b, _CMP_LT_OQ);
#endif
    unsigned bits = 0;
    for (int lane = 0; lane < L; ++lane) bits |= unsigned(a[lane] < b[lane]) << lane;
    return bits;
  }

  static ELASTICGNN_INLINE Vec root(Vec value) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4 && L == 16) return (Vec)_mm512_sqrt_ps((__m512)value);
    if constexpr (sizeof(T) == 8 && L == 8) return (Vec)_mm512_sqrt_pd((__m512d)value);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(T) == 4 && L == 8) return (Vec)_mm256_sqrt_ps((__m256)value);
    if constexpr (sizeof(T) == 8 && L == 4) return (Vec)_mm256_sqrt_pd((__m256d)value);
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(T) == 4 && L == 4) return (Vec)_mm_sqrt_ps((__m128)value);
#endif
    for (int lane = 0; lane < L; ++lane) value[lane] = square_root(value[lane]);
    return value;
  }
  // a < b ? a : b and a > b ? a : b, so b where one is NaN: what the instructions do, but the
  // compiler does not see it.
  static ELASTICGNN_INLINE Vec least(Vec a, Vec b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4 && L == 16) return (Vec)_mm512_min_ps((__m512)a, (__m512)b);
    if constexpr (sizeof(T) == 4 && L == 8) return (Vec)_mm256_min_ps((__m256)a, (__m256)b);
#endif
    return a < b ? a : b;
  }
  static ELASTICGNN_INLINE Vec most(Vec a, Vec b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4 && L == 16) return (Vec)_mm512_max_ps((__m512)a, (__m512)b);
    if constexpr (sizeof(T) == 4 && L == 8) return (Vec)_mm256_max_ps((__m256)a, (__m256)b);
#endif
    return a > b ? a : b;
  }
};

}  // namespace elasticgnn::ISA_NAMESPACE
