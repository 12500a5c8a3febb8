// Sparse Cholesky factors front by front (multifrontal, Duff and Reid 1983), and their solutions.
// One thread, so the bits are the same on any number of them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "solver/channels.h"
#include "solver/cholesky.h"
#include "solver/dense.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

constexpr std::int64_t PANEL_COLUMNS =
    32;                          // of a panel that are factorised before the rest sees them
constexpr std::int64_t FEW = 8;  // rows and columns of a product that is not worth packing

struct Front {
  std::int64_t columns, below, height;
  double* panel;

  Front(const Cholesky& c, std::int32_t s)
      : columns(std::int64_t(c.first[s + 1] - c.first[s]) * c.channels),
        below((c.row_start[s + 1] - c.row_start[s]) * c.channels),
        height(columns + below),
        panel(c.values + c.panel[s]) {}
};

void subtract(double* c, std::int64_t stride_c, const double* b, std::int64_t stride_b,
              std::int64_t rows, std::int64_t columns, std::int64_t depth, double* packed) {
  if (rows > FEW || depth > FEW)
    return subtract_square(c, stride_c, b, stride_b, rows, columns, depth, packed);
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t p = 0; p < depth; ++p) {
      const double factor = b[p * stride_b + j];
      for (std::int64_t i = j; i < rows; ++i) c[j * stride_c + i] -= b[p * stride_b + i] * factor;
    }
}

// Columns `from` to `to` of the panel, whose earlier columns have been taken from them.
bool factorise_columns(const Front& front, std::int64_t from, std::int64_t to) {
  const std::int64_t height = front.height;
  for (std::int64_t j = from; j < to; ++j) {
    double* const __restrict own = front.panel + j * height;
    for (std::int64_t p = from; p < j; ++p) {
      const double* const __restrict earlier = front.panel + p * height;
      const double factor = earlier[j];
      for (std::int64_t i = j; i < height; ++i) own[i] -= earlier[i] * factor;
    }
    if (!(own[j] > 0)) return false;
    const double inverse = 1 / std::sqrt(own[j]);
    own[j] = inverse;  // the root's inverse is what solutions need
    for (std::int64_t i = j + 1; i < height; ++i) own[i] *= inverse;
  }
  return true;
}

bool factorise_panel(const Front& front, double* packed) {
  for (std::int64_t from = 0; from < front.columns; from += PANEL_COLUMNS) {
    const std::int64_t to = std::min(from + PANEL_COLUMNS, front.columns), height = front.height;
    if (!factorise_columns(front, from, to)) return false;
    double* const rest = front.panel + to * height + to;
    subtract(rest, height, front.panel + from * height + to, height, height - to,
             front.columns - to, to - from, packed);
  }
  return true;
}

// Adds what a child left (a square of `size` rows) to the panel and to the parent's own square.
template <int D>
void add_child(const Front& front, double* square, const double* child, std::int64_t nodes,
               const std::int32_t* relative) {
  const std::int64_t size = nodes * D;
  for (std::int64_t b = 0; b < nodes; ++b)
    for (int l = 0; l < D; ++l) {
      const std::int64_t column = std::int64_t(relative[b]) * D + l;
      const double* const from = child + (b * D + l) * size;
      double* const to = column < front.columns
                             ? front.panel + column * front.height
                             : square + (column - front.columns) * front.below - front.columns;
      for (int k = l; k < D; ++k) to[std::int64_t(relative[b]) * D + k] += from[b * D + k];
      for (std::int64_t a = b + 1; a < nodes; ++a)
        for (int k = 0; k < D; ++k) to[std::int64_t(relative[a]) * D + k] += from[a * D + k];
    }
}

template <int D>
bool factorise(const Cholesky& c) {
  std::int32_t waiting = 0;
  std::int64_t top = 0;
  for (std::int32_t s = 0; s < c.count; ++s) {
    const Front front(c, s);
    double* const square = c.stack + top;
    const std::int64_t size = front.below * front.below;
    std::fill(square, square + size, 0.0);
    std::int64_t bottom = top;
    for (std::int32_t k = 0; k < c.children[s]; ++k) {
      const std::int32_t child = c.waiting[--waiting];
      bottom = c.place[child];
      add_child<D>(front, square, c.stack + bottom, c.row_start[child + 1] - c.row_start[child],
                   c.relative + c.row_start[child]);
    }
    if (!factorise_panel(front, c.packed)) return false;
    if (!size) {
      top = bottom;
      continue;
    }
    subtract(square, front.below, front.panel + front.columns, front.height, front.below,
             front.below, front.columns, c.packed);
    if (bottom < top) std::memmove(c.stack + bottom, square, std::size_t(size) * sizeof(double));
    c.waiting[waiting++] = s, c.place[s] = bottom;
    top = bottom + size;
  }
  return true;
}

// L y = b, then L' x = y, in the order of elimination; `rows` of a front are gathered in `part`.
template <int D>
void solve(const Cholesky& c, double* right, double* part) {
  for (std::int32_t s = 0; s < c.count; ++s) {
    const Front front(c, s);
    double* const own = right + std::int64_t(c.first[s]) * D;
    std::fill(part, part + front.below, 0.0);
    for (std::int64_t j = 0; j < front.columns; ++j) {
      const double* const __restrict column = front.panel + j * front.height;
      const double value = own[j] *= column[j];
      for (std::int64_t i = j + 1; i < front.columns; ++i) own[i] -= column[i] * value;
      const double* const __restrict lower = column + front.columns;
      for (std::int64_t i = 0; i < front.below; ++i) part[i] += lower[i] * value;
    }
    const std::int32_t* const rows = c.rows + c.row_start[s];
    for (std::int64_t i = 0; i < front.below / D; ++i)
      for (int k = 0; k < D; ++k) right[std::int64_t(rows[i]) * D + k] -= part[i * D + k];
  }
  for (std::int32_t s = c.count; s-- > 0;) {
    const Front front(c, s);
    double* const own = right + std::int64_t(c.first[s]) * D;
    const std::int32_t* const rows = c.rows + c.row_start[s];
    for (std::int64_t i = 0; i < front.below / D; ++i)
      for (int k = 0; k < D; ++k) part[i * D + k] = right[std::int64_t(rows[i]) * D + k];
    for (std::int64_t j = front.columns; j-- > 0;) {
      const double* const column = front.panel + j * front.height;
      const double* const lower = column + front.columns;
      double sums[4] = {};
      std::int64_t i = 0;
      for (; i + 4 <= front.below; i += 4)
        for (int k = 0; k < 4; ++k) sums[k] += lower[i + k] * part[i + k];
      double value = own[j] - ((sums[0] + sums[1]) + (sums[2] + sums[3]));
      for (; i < front.below; ++i) value -= lower[i] * part[i];
      for (i = j + 1; i < front.columns; ++i) value -= column[i] * own[i];
      own[j] = value * column[j];
    }
  }
}

}  // namespace

bool cholesky_factorise(const Cholesky& c) {
  return with_channels(c.channels, [&](auto d) { return factorise<d>(c); });
}

void cholesky_solve(const Cholesky& c, double* right, double* part) {
  with_channels(c.channels, [&](auto d) { solve<d>(c, right, part); });
}

}  // namespace elasticgnn::ISA_NAMESPACE
