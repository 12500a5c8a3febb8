// Sixteen lanes of attention: lane l belongs to head l % G of a group of G heads (1 or 8).
#pragma once

#include <cstring>
#include <limits>

#include "attention/problem.h"
#include "simd/sixteen.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

constexpr float kSlope = 0.2f;  // of the leaky ReLU below 0
typedef float Vec8 __attribute__((vector_size(32)));

[[gnu::always_inline]] inline Vec16 splat(float x) { return x - Vec16{}; }
[[gnu::always_inline]] inline Vec16 larger(Vec16 a, Vec16 b) { return a > b ? a : b; }
[[gnu::always_inline]] inline Vec16 leaky(Vec16 x) { return x > 0 ? x : kSlope * x; }

// exp of numbers up to about 0, to 1e-7 of the result; 0 below -87, where results leave float's
// normal range; NaN stays. 2^n times the polynomial of Cephes' expf on |r| <= log(2) / 2.
[[gnu::always_inline]] inline Vec16 exponential(Vec16 x) {
  const Vec16 shifted =
      x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the last bits are round(x / log 2)
  const Vec16 n = shifted - 12582912.0f;
  const Vec16 r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec16 p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Vec16 power = (Vec16)(((Words16)shifted + 127u) << 23);
  return x < -87.0f ? Vec16{} : p * power;
}

// One number per head of the group, in all its lanes.
template <int G>
[[gnu::always_inline]] inline Vec16 per_head(const float* from) {
  if constexpr (G == 1) return splat(*from);
  Vec8 x;
  std::memcpy(&x, from, sizeof x);
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
}

template <int G>
[[gnu::always_inline]] inline void copy_heads(float* to, const float* from) {
  if constexpr (G == 1) *to = *from;
  else std::memcpy(to, from, G * sizeof(float));
}

// Joins the lanes of each head by `join`; the result is in all of the head's lanes.
template <int G, class Join>
[[gnu::always_inline]] inline Vec16 fold(Vec16 x, Join join) {
  x = join(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  if constexpr (G == 1) {
    x = join(x,
             __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = join(x,
             __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    x = join(x,
             __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
  }
  return x;
}

template <int G>
[[gnu::always_inline]] inline Vec16 fold_sum(Vec16 x) {
  return fold<G>(x, [](Vec16 a, Vec16 b) __attribute__((always_inline)) { return a + b; });
}

template <int G>
[[gnu::always_inline]] inline Vec16 fold_larger(Vec16 x) {
  return fold<G>(x, [](Vec16 a, Vec16 b) __attribute__((always_inline)) { return larger(a, b); });
}

// Heads first .. first + heads - 1 of rows of `all` heads.
struct HeadGroup {
  std::int64_t first, heads, all, channels, width;
};

[[gnu::always_inline]] inline HeadGroup head_group(const AttentionShape& s, std::int64_t number) {
  const std::int64_t first = number * group_size(s);
  return {first, smaller(group_size(s), s.heads - first), s.heads, s.channels, packed_width(s)};
}

template <int G>
void pack_row(const HeadGroup& g, const float* rows, std::int64_t node, float* to) {
  if (g.heads * g.channels < g.width) std::memset(to, 0, g.width * sizeof(float));
  const float* from = rows + (node * g.all + g.first) * g.channels;
  for (std::int64_t k = 0; k < g.heads; ++k)
    for (std::int64_t c = 0; c < g.channels; ++c) to[c * G + k] = from[k * g.channels + c];
}

template <int G>
void unpack_row(const HeadGroup& g, const float* from, float* rows, std::int64_t node) {
  float* to = rows + (node * g.all + g.first) * g.channels;
  for (std::int64_t k = 0; k < g.heads; ++k)
    for (std::int64_t c = 0; c < g.channels; ++c) to[k * g.channels + c] = from[c * G + k];
}

// The group's numbers (one per head) of a node, zeros for the heads that fill it up.
template <int G>
void pack_heads(const HeadGroup& g, const float* values, std::int64_t node, float* to) {
  for (int k = 0; k < G; ++k) to[k] = k < g.heads ? values[node * g.all + g.first + k] : 0.0f;
}

template <int G>
void unpack_heads(const HeadGroup& g, Vec16 from, float* values, std::int64_t node) {
  float lanes[LANES];
  store(lanes, from);
  for (std::int64_t k = 0; k < g.heads; ++k) values[node * g.all + g.first + k] = lanes[k];
}

[[gnu::always_inline]] inline std::int64_t whole_lanes(std::int64_t count) {
  return (count + LANES - 1) / LANES * LANES;
}

}  // namespace
}  // namespace elasticgnn::ISA_NAMESPACE
