// A sparse Cholesky factor as its loops see it: bare addresses, no code.
//
// The front of supernode s has d (width + below) rows. Its panel, the first d width columns, stands
// at `panel` of the values, column by column; the numbers of the matrix are there before it is
// factorised. What a front leaves for its parent is a square of d below rows on the stack.
#pragma once

#include <cstdint>

namespace elasticgnn {

struct Cholesky {
  int channels;                   // d
  std::int32_t count;             // supernodes, children before parents
  const std::int32_t* first;      // column (in nodes) of each, and the end (s + 1,)
  const std::int64_t* row_start;  // (s + 1,)
  const std::int32_t* rows;       // below the columns, ascending
  const std::int32_t* relative;   // their places in the parent's front
  const std::int32_t* children;   // how many, which stand on top of the stack
  const std::int64_t* panel;      // (s,)
  double* values;
  double* stack;
  std::int32_t* waiting;  // supernodes whose squares stand on the stack (s,)
  std::int64_t* place;    // of each square (s,)
  double* packed;         // for products: PACKED_COLUMNS of the tallest front, rounded up
};

constexpr int PACKED_COLUMNS = 128;  // of a product at a time: 128 x 192 numbers fit the cache
constexpr int PACKED_ROWS = 16;      // rows of a front are rounded up to this many

}  // namespace elasticgnn
