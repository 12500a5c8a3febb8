// Four registers of the dual: ascended, projected onto the ball or the box, and their active rows.
#pragma once

#include "emp/packed/problem.h"
#include "emp/packed/sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

#if defined(__AVX512F__) && defined(__AVX512DQ__)

namespace {

constexpr unsigned kFirst = 0x1111;  // register 0 in every four lanes

struct Ball {
  __m512 beta, radius, squared;
  explicit Ball(const PackedProblem& problem)
      : beta(_mm512_set1_ps(problem.beta)),
        radius(_mm512_set1_ps(problem.lambda1)),
        squared(_mm512_mul_ps(radius, radius)) {}
};

// min(1, lambda1 / |row|) for rows with these squared lengths. An estimate to 14 bits and one step
// of Newton are more than float32 holds; the bounds keep lengths of 0 and overflowed ones finite,
// not NaN.
ELASTICGNN_INLINE __m512 shrink_factor(const Ball& ball, __m512 squares) {
  const __m512 s =
      _mm512_min_ps(_mm512_set1_ps(3e38f), _mm512_max_ps(_mm512_set1_ps(1e-36f), squares));
  const __m512 guess = _mm512_rsqrt14_ps(s);
  const __m512 rest = _mm512_fnmadd_ps(_mm512_mul_ps(s, guess), guess, _mm512_set1_ps(3));
  const __m512 root = _mm512_mul_ps(_mm512_mul_ps(guess, _mm512_set1_ps(0.5f)), rest);
  return _mm512_min_ps(_mm512_set1_ps(1), _mm512_mul_ps(ball.radius, root));
}

// Appends Z of the rows that `mask` names, register by register, then their r.
template <int P>
ELASTICGNN_INLINE float* append_rows(unsigned mask, const __m512* z, __m512 factor,
                                     std::int64_t width, float* to) {
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const __mmask16 lanes = Packed<P>::lanes_of(mask, r, width);
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(lanes, z[r]));
    to += __builtin_popcount(lanes);
  }
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps(__mmask16(mask), factor));
  return to + __builtin_popcount(mask);
}

// Four registers of the dual before the projection, and the squared lengths of their rows.
struct Ascended {
  __m512 z[4], sums;
};

// B1 up to the projection, for `count` (1 .. 4) registers from g on.
template <int P, int Share, bool Box>
ELASTICGNN_INLINE Ascended climb(__m512 beta, std::int64_t g, int count, bool first,
                                 const std::int32_t* __restrict owner,
                                 const std::int32_t* __restrict column, const float* __restrict ub,
                                 const float* __restrict dual) {
  using V = Packed<P>;
  Ascended up;
  __m512 squares[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const std::int64_t at = g + (r < count ? r : 0);
    const __m512 step =
        _mm512_sub_ps(Nodes<P, Share>::load(ub + owner[at]), V::gather(ub, column + at * V::G));
    up.z[r] =
        _mm512_fmadd_ps(beta, step, first ? _mm512_setzero_ps() : _mm512_load_ps(dual + at * 16));
    squares[r] = _mm512_mul_ps(up.z[r], up.z[r]);
    prefetch_register(dual, at);
  }
  up.sums = Box ? _mm512_setzero_ps() : V::row_sums(squares);
  return up;
}

// The projection onto the box; `masks` (or null) get the numbers that left it.
template <int P>
ELASTICGNN_INLINE void clamp(const Ball& ball, Ascended& up, std::int64_t g, int count,
                             float* __restrict dual, std::uint16_t* masks) {
  const __m512 low = _mm512_sub_ps(_mm512_setzero_ps(), ball.radius);
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    if (r >= count) break;
    // the number is the second operand, which is what min and max give for NaN
    const __m512 z = _mm512_min_ps(ball.radius, _mm512_max_ps(low, up.z[r]));
    if (masks) masks[r] = _mm512_cmp_ps_mask(_mm512_abs_ps(up.z[r]), ball.radius, _CMP_GT_OQ);
    _mm512_store_ps(dual + (g + r) * 16, z);
  }
}

// The projection onto the ball. If `save`, what left the ball goes to `to`, and is named in the
// result.
template <int P>
ELASTICGNN_INLINE unsigned project(const Ball& ball, Ascended& up, std::int64_t g, int count,
                                   bool save, float* __restrict dual, std::int64_t width,
                                   float*& to) {
  using V = Packed<P>;
  const __m512 factor = shrink_factor(ball, up.sums);
  const __m512 factors[4] = {V::template one_of<0>(factor), V::template one_of<1>(factor),
                             V::template one_of<2>(factor), V::template one_of<3>(factor)};
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    up.z[r] = _mm512_mul_ps(up.z[r], factors[r]);
    if (r < count) _mm512_store_ps(dual + (g + r) * 16, up.z[r]);
  }
  if (!save) return 0;
  const unsigned mask = _mm512_cmp_ps_mask(up.sums, ball.squared, _CMP_GT_OQ) & V::kPlaces &
                        (kFirst * ((1u << count) - 1));
  if (mask) to = append_rows<P>(mask, up.z, factor, width, to);
  return mask;
}

}  // namespace

#endif

}  // namespace elasticgnn::ISA_NAMESPACE
