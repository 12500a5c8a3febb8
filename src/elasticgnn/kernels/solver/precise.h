// What the loops of twice the digits read and write: bare addresses, no code.
#pragma once

#include <cstdint>

namespace elasticgnn {

// A matrix by rows whose entries are the sums high + low.
struct TwofoldRows {
  std::int64_t rows;
  const std::int32_t* start;
  const std::int32_t* column;
  const double* high;
  const double* low;
};

// A symmetric band: number (j, i) is at row j + i of column j, 0 <= i <= width.
struct TwofoldBand {
  int width;
  std::int64_t size;
  double* high;  // (size, width + 1)
  double* low;
};

// C + K' G K: C (n, d), G (r, d, d) as high + low; node i is at position[i].
struct PreciseSystem {
  TwofoldRows operators;
  int channels;
  const std::int32_t* position;
  const double* weight;
  const double* high;
  const double* low;
};

}  // namespace elasticgnn
