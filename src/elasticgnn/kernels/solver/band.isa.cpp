// Cholesky factors of a narrow band: number (j, i) is at row j + i of column j, 0 <= i <= width.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "solver/interior.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

// Column j scaled by its root, whose inverse takes its place, and taken from the next `last` ones.
template <int B>
inline bool eliminate(double* column, int last) {
  if (!(column[0] > 0)) return false;
  const double inverse = 1 / std::sqrt(column[0]);
  column[0] = inverse;
  for (int i = 1; i <= B; ++i) column[i] *= inverse;
  for (int i = 1; i <= last; ++i) {
    double* const next = column + i * (B + 1);
    const double factor = column[i];
    for (int k = i; k <= B; ++k) next[k - i] -= factor * column[k];
  }
  return true;
}

template <int B>
bool factorise(std::int64_t size, double* band) {
  const std::int64_t inner = std::max<std::int64_t>(size - B, 0);
  for (std::int64_t j = 0; j < inner; ++j)
    if (!eliminate<B>(band + j * (B + 1), B)) return false;
  for (std::int64_t j = inner; j < size; ++j)
    if (!eliminate<B>(band + j * (B + 1), int(size - 1 - j))) return false;
  return true;
}

template <int B>
void solve(std::int64_t size, const double* band, double* right) {
  for (std::int64_t j = 0; j < size; ++j) {
    const double* column = band + j * (B + 1);
    const int last = int(std::min<std::int64_t>(B, size - 1 - j));
    const double value = right[j] * column[0];
    right[j] = value;
    if (last == B)
      for (int i = 1; i <= B; ++i) right[j + i] -= column[i] * value;
    else
      for (int i = 1; i <= last; ++i) right[j + i] -= column[i] * value;
  }
  for (std::int64_t j = size; j-- > 0;) {
    const double* column = band + j * (B + 1);
    const int last = int(std::min<std::int64_t>(B, size - 1 - j));
    double value = right[j];
    if (last == B)
      for (int i = B; i >= 1; --i) value -= column[i] * right[j + i];
    else
      for (int i = last; i >= 1; --i) value -= column[i] * right[j + i];
    right[j] = value * column[0];
  }
}

using Factorise = bool (*)(std::int64_t, double*);
using Solve = void (*)(std::int64_t, const double*, double*);

template <int... B>
Factorise factorise_of(int width, std::integer_sequence<int, B...>) {
  constexpr Factorise known[] = {factorise<B>...};
  return known[width];
}

template <int... B>
Solve solve_of(int width, std::integer_sequence<int, B...>) {
  constexpr Solve known[] = {solve<B>...};
  return known[width];
}

using Widths = std::make_integer_sequence<int, INTERIOR_BAND + 1>;

}  // namespace

bool band_factorise(int width, std::int64_t size, double* band) {
  return factorise_of(width, Widths())(size, band);
}

void band_solve(int width, std::int64_t size, const double* band, double* right) {
  solve_of(width, Widths())(size, band, right);
}

}  // namespace elasticgnn::ISA_NAMESPACE
