// Rows of fixed lanes: four or eight numbers on every instruction set, so that sums over a row have
// one order everywhere. These files are compiled without contraction to fused multiply-adds:
// machines of different kinds agree in every bit, which the two copies of a cut edge's dual rely
// on.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "halo.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

#define HALO_INLINE inline __attribute__((always_inline))

template <class T, int L>
struct Lane {
  typedef T Vec __attribute__((vector_size(sizeof(T) * L)));
};

// Count vectors of L lanes; Count = 0 leaves their number open.
template <class T, int L, int Count>
struct HaloRow {
  using Vec = typename Lane<T, L>::Vec;
  static constexpr int kLanes = L;
  std::int64_t width;
  explicit HaloRow(std::int64_t width_) : width(width_) {}
  HALO_INLINE int count() const { return Count ? Count : int(width / L); }
  HALO_INLINE std::int64_t stride() const { return Count ? Count * L : width; }
  static HALO_INLINE Vec load(const T* row, int v) {
    Vec value;
    std::memcpy(&value, row + v * L, sizeof(Vec));
    return value;
  }
  static HALO_INLINE void store(T* row, int v, Vec value) {
    std::memcpy(row + v * L, &value, sizeof(Vec));
  }
  static HALO_INLINE Vec splat(T value) { return value - Vec{}; }
  static HALO_INLINE T sum(Vec value) {
    if constexpr (L == 8)
      return ((value[0] + value[4]) + (value[2] + value[6])) +
             ((value[1] + value[5]) + (value[3] + value[7]));
    return (value[0] + value[2]) + (value[1] + value[3]);
  }
};

HALO_INLINE float root(float value) { return __builtin_sqrtf(value); }
HALO_INLINE double root(double value) { return __builtin_sqrt(value); }
template <class N>
HALO_INLINE N least(N a, N b) {
  return a < b ? a : b;
}
template <class N>
HALO_INLINE N most(N a, N b) {
  return a > b ? a : b;
}

// The map of the dual step: a row of length r becomes factor(r) times itself ("l1": entries are
// clamped).
template <class T, Shape S>
struct Shrink {
  const HaloSizes<T>& s;
  HALO_INLINE T limit(T length) const {
    if constexpr (S != Shape::fading) return s.lambda1;
    return least(s.lambda1, most(T(0), s.start * s.lambda1 - s.slope * length));
  }
  // exactly 1 inside; NaN for a row that holds one, as `most` gives what cannot be compared second
  HALO_INLINE T factor(T length) const {
    const T longest = limit(length);
    return longest / most(most(longest, T(1e-37)), length);
  }
};

template <class T, class Body>
void with_halo_row(std::int64_t width, const Body& body) {
  if (width == 4) return body(HaloRow<T, 4, 1>(width));
  if (width == 8) return body(HaloRow<T, 8, 1>(width));
  if (width == 16) return body(HaloRow<T, 8, 2>(width));
  if (width == 40) return body(HaloRow<T, 8, 5>(width));
  if (width == 64) return body(HaloRow<T, 8, 8>(width));
  return body(HaloRow<T, 8, 0>(width));
}

// Calls body(std::integral_constant<Shape, ...>).
template <class Body>
void with_shape(Shape shape, const Body& body) {
  if (shape == Shape::ball) return body(std::integral_constant<Shape, Shape::ball>());
  if (shape == Shape::box) return body(std::integral_constant<Shape, Shape::box>());
  return body(std::integral_constant<Shape, Shape::fading>());
}

// A kernel of both kinds of numbers.
#define HALO_INSTANTIATE(kernel, Arrays)                                                    \
  template void kernel(const HaloGraph<float>&, const HaloSizes<float>&, const HaloPass&,   \
                       const Arrays<float>&);                                               \
  template void kernel(const HaloGraph<double>&, const HaloSizes<double>&, const HaloPass&, \
                       const Arrays<double>&);

}  // namespace
}  // namespace elasticgnn::ISA_NAMESPACE
