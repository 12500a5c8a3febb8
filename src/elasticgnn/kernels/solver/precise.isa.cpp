// The node system of the interior point method in twice the digits (interior_point/precise.py).
#include "solver/precise.h"

#include <algorithm>

#include "solver/twofold.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

inline void add(const TwofoldBand& band, std::int64_t place, Twofold number) {
  const Twofold sum = Twofold{band.high[place], band.low[place]} + number;
  band.high[place] = sum.high;
  band.low[place] = sum.low;
}

// The numbers (a, b) of one pair of a row's nodes, as far as they lie in the lower triangle.
void add_block(const PreciseSystem& system, const TwofoldBand& band, std::int64_t row,
               std::int32_t p, std::int32_t q) {
  const TwofoldRows& k = system.operators;
  const int d = system.channels;
  const Twofold both = Twofold{k.high[p], k.low[p]} * Twofold{k.high[q], k.low[q]};
  const std::int64_t one = std::int64_t(system.position[k.column[p]]) * d;
  const std::int64_t other = std::int64_t(system.position[k.column[q]]) * d;
  const double *high = system.high + row * d * d, *low = system.low + row * d * d;
  for (int a = 0; a < d; ++a)
    for (int b = 0; b < d; ++b)
      if (one + a >= other + b)
        add(band, (other + b) * band.width + one + a,
            both * Twofold{high[a * d + b], low[a * d + b]});
}

// next[k] -= factor * column[k] for `count` numbers
inline void subtract(const Twofold factor, const double* high, const double* low, double* next_high,
                     double* next_low, int count) {
#pragma omp simd
  for (int k = 0; k < count; ++k) {
    const Twofold number = factor * Twofold{high[k], low[k]};
    const Twofold left = Twofold{next_high[k], next_low[k]} + -number;
    next_high[k] = left.high;
    next_low[k] = left.low;
  }
}

}  // namespace

void precise_assemble(const PreciseSystem& system, const TwofoldBand& band) {
  const std::int64_t numbers = band.size * (band.width + 1);
  std::fill(band.high, band.high + numbers, 0.0);
  std::fill(band.low, band.low + numbers, 0.0);
  const int d = system.channels;
  for (std::int64_t i = 0; i < band.size; ++i) {
    const std::int64_t own = std::int64_t(system.position[i / d]) * d + i % d;
    band.high[own * (band.width + 1)] = system.weight[i];
  }
  const TwofoldRows& k = system.operators;
  for (std::int64_t row = 0; row < k.rows; ++row)
    for (std::int32_t p = k.start[row]; p < k.start[row + 1]; ++p)
      for (std::int32_t q = k.start[row]; q < k.start[row + 1]; ++q)
        add_block(system, band, row, p, q);
}

// L D L' in the place of the band, D on its diagonal; false if a number of D is not positive.
bool precise_factorise(const TwofoldBand& band) {
  const int stride = band.width + 1;
  for (std::int64_t j = 0; j < band.size; ++j) {
    double *high = band.high + j * stride, *low = band.low + j * stride;
    const Twofold pivot{high[0], low[0]};
    if (!(pivot.high > 0)) return false;
    const int last = int(std::min<std::int64_t>(band.width, band.size - 1 - j));
    for (int i = 1; i <= last; ++i) {
      if (high[i] == 0) continue;
      const Twofold factor = Twofold{high[i], low[i]} / pivot;
      const std::int64_t next = (j + i) * stride;
      subtract(factor, high + i, low + i, band.high + next, band.low + next, last - i + 1);
    }
    for (int i = 1; i <= last; ++i) {
      const Twofold factor = Twofold{high[i], low[i]} / pivot;
      high[i] = factor.high;
      low[i] = factor.low;
    }
  }
  return true;
}

void precise_solve(const TwofoldBand& band, double* right_high, double* right_low) {
  const int stride = band.width + 1;
  for (std::int64_t j = 0; j < band.size; ++j) {
    const double *high = band.high + j * stride, *low = band.low + j * stride;
    const int last = int(std::min<std::int64_t>(band.width, band.size - 1 - j));
    const Twofold value{right_high[j], right_low[j]};
    subtract(value, high + 1, low + 1, right_high + j + 1, right_low + j + 1, last);
  }
  for (std::int64_t j = band.size; j-- > 0;) {
    const double *high = band.high + j * stride, *low = band.low + j * stride;
    const int last = int(std::min<std::int64_t>(band.width, band.size - 1 - j));
    Twofold value = Twofold{right_high[j], right_low[j]} / Twofold{high[0], low[0]};
    for (int i = 1; i <= last; ++i)
      value = value + -(Twofold{high[i], low[i]} * Twofold{right_high[j + i], right_low[j + i]});
    right_high[j] = value.high;
    right_low[j] = value.low;
  }
}

// The product with rows (n, d) high + low, rounded to doubles.
void precise_multiply(const TwofoldRows& matrix, int channels, const double* high,
                      const double* low, double* out) {
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    for (int k = 0; k < channels; ++k) {
      Twofold sum{0.0, 0.0};
      for (std::int32_t p = matrix.start[row]; p < matrix.start[row + 1]; ++p) {
        const std::int64_t at = std::int64_t(matrix.column[p]) * channels + k;
        sum = sum + Twofold{matrix.high[p], matrix.low[p]} * Twofold{high[at], low[at]};
      }
      out[row * channels + k] = sum.high;
    }
}

}  // namespace elasticgnn::ISA_NAMESPACE
