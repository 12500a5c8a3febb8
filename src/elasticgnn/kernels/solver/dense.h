// C <- C - B B' on the lower triangle: the product that sparse Cholesky factors consist of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simd/vec.h"
#include "solver/cholesky.h"

namespace elasticgnn::ISA_NAMESPACE {

// A tile of ROWS x COLUMNS sums stays in registers.
struct Tile {
  static constexpr int DOUBLES = kVectorBytes / int(sizeof(double));  // of a register
  static constexpr int ROWS = 2 * DOUBLES;
  static constexpr int COLUMNS = kVectorBytes == 64 ? 8 : 4;
  static constexpr int BLOCK = 192;  // rows whose packed numbers stay in the cache
  using Register = Pack<double, DOUBLES>;
  using Vec = Register::Vec;

  // sum[j] <- columns j of the product of packed rows with packed rows at `column`
  static ELASTICGNN_INLINE void product(const double* rows, const double* column, int depth,
                                        Vec (&sum)[COLUMNS][2]) {
    for (int j = 0; j < COLUMNS; ++j) sum[j][0] = sum[j][1] = Vec{};
    for (int p = 0; p < depth; ++p) {
      const Vec low = Register::load(rows + p * ROWS),
                high = Register::load(rows + p * ROWS + DOUBLES);
      for (int j = 0; j < COLUMNS; ++j) {
        const Vec factor = Register::splat(column[p * ROWS + j]);
        sum[j][0] += low * factor;
        sum[j][1] += high * factor;
      }
    }
  }
};

// Rows of `depth` columns, in tiles: ROWS numbers of one column stand together.
inline void pack(const double* from, std::int64_t stride, std::int64_t rows, int depth,
                 double* to) {
  for (std::int64_t i = 0; i < rows; i += Tile::ROWS) {
    const int full = int(std::min<std::int64_t>(Tile::ROWS, rows - i));
    for (int p = 0; p < depth; ++p, to += Tile::ROWS) {
      const double* const column = from + p * stride + i;
      for (int k = 0; k < full; ++k) to[k] = column[k];
      for (int k = full; k < Tile::ROWS; ++k) to[k] = 0;
    }
  }
}

// C (rows x columns, rows >= columns) -= B B' where row >= column; B is (rows x depth).
inline void subtract_square(double* c, std::int64_t stride_c, const double* b,
                            std::int64_t stride_b, std::int64_t rows, std::int64_t columns,
                            std::int64_t depth, double* packed) {
  for (std::int64_t p = 0; p < depth; p += PACKED_COLUMNS) {
    const int deep = int(std::min<std::int64_t>(PACKED_COLUMNS, depth - p));
    pack(b + p * stride_b, stride_b, rows, deep, packed);
    const auto at = [&](std::int64_t row) {  // of a multiple of Tile::COLUMNS
      return packed + row / Tile::ROWS * Tile::ROWS * deep + row % Tile::ROWS;
    };
    for (std::int64_t block = 0; block < rows; block += Tile::BLOCK) {
      const std::int64_t block_end = std::min<std::int64_t>(block + Tile::BLOCK, rows);
      for (std::int64_t j = 0; j < std::min(columns, block_end); j += Tile::COLUMNS) {
        const std::int64_t from = std::max(block, j / Tile::ROWS * Tile::ROWS);
        for (std::int64_t i = from; i < block_end; i += Tile::ROWS) {
          Tile::Vec sum[Tile::COLUMNS][2];
          Tile::product(at(i), at(j), deep, sum);
          const bool inside =
              i + Tile::ROWS <= rows && j + Tile::COLUMNS <= columns && i >= j + Tile::COLUMNS - 1;
          for (int k = 0; k < Tile::COLUMNS; ++k) {
            double* const to = c + (j + k) * stride_c + i;
            if (inside) {
              Tile::Register::store(to, Tile::Register::load(to) - sum[k][0]);
              Tile::Register::store(to + Tile::DOUBLES,
                                    Tile::Register::load(to + Tile::DOUBLES) - sum[k][1]);
            } else if (j + k < columns) {
              for (std::int64_t r = std::max<std::int64_t>(j + k - i, 0);
                   r < std::min<std::int64_t>(Tile::ROWS, rows - i); ++r)
                to[r] -= sum[k][r / Tile::DOUBLES][r % Tile::DOUBLES];
            }
          }
        }
      }
    }
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
