// Numbers of twice the digits: the unevaluated sum of two doubles, the second below the last digit
// of the first. Dekker (1971), Knuth; as long as no product is contracted and no sum reordered.
#pragma once

#include <cmath>

namespace elasticgnn::ISA_NAMESPACE {
namespace {

struct Twofold {
  double high, low;
};

inline Twofold exact_sum(double a, double b) {
  const double sum = a + b, other = sum - a;
  return {sum, (a - (sum - other)) + (b - other)};
}

// |a| >= |b|
inline Twofold normal(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

inline Twofold exact_product(double a, double b) {
  const double product = a * b;
#if defined(__FMA__) || defined(__aarch64__)
  return {product, std::fma(a, b, -product)};
#else  // Dekker's halves: a call of the library's fma would take longer
  const double wide_a = 134217729.0 * a, wide_b = 134217729.0 * b;
  const double a1 = wide_a - (wide_a - a), b1 = wide_b - (wide_b - b);
  const double a2 = a - a1, b2 = b - b1;
  return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}

inline Twofold operator+(Twofold a, Twofold b) {
  const Twofold high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
  const Twofold middle = normal(high.high, high.low + low.high);
  return normal(middle.high, middle.low + low.low);
}

inline Twofold operator-(Twofold a) { return {-a.high, -a.low}; }

inline Twofold operator*(Twofold a, Twofold b) {
  const Twofold product = exact_product(a.high, b.high);
  return normal(product.high, product.low + (a.high * b.low + a.low * b.high));
}

inline Twofold operator*(Twofold a, double b) {
  const Twofold product = exact_product(a.high, b);
  return normal(product.high, product.low + a.low * b);
}

inline Twofold operator/(Twofold a, Twofold b) {
  const double first = a.high / b.high;
  const Twofold left = a + -(b * first);
  return normal(first, left.high / b.high);
}

}  // namespace
}  // namespace elasticgnn::ISA_NAMESPACE
