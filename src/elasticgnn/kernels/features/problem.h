// Sparse feature matrices times dense ones, and the masks of counter-based dropout.
#pragma once

#include <cstdint>

#include "simd/hash.h"

namespace elasticgnn {

// Row i of an (n, f) matrix owns the slots start[i] .. start[i + 1].
struct SparseRows {
  std::int64_t rows;
  const std::int64_t* start;
  const std::int32_t* column;
  const float* value;
  const std::int32_t* entry;  // number of each slot's value in the masks; null: its own position
};

struct SparseProduct {
  SparseRows matrix;
  const float* dense;  // (f, width)
  float* out;          // (n, width)
  std::int64_t width;
  int threads;
};

// The same of the values that survive dropout, which are scaled.
struct DroppedProduct {
  SparseRows matrix;
  std::uint64_t key;
  std::uint32_t threshold;  // hashes below are dropped
  float scale;
  const float* dense;  // (f, width)
  float* out;          // (n, width)
  std::int64_t width;
  int threads;
};

struct KeepMask {
  std::uint64_t key;
  std::uint32_t threshold;
  std::int64_t count;
  std::uint8_t* keep;
  int threads;
};

// Row r holds the positions first[r], first[r] + 1, .. of a larger array; its mask is
// keep[start[r]] .. keep[start[r + 1] - 1].
struct KeepRows {
  std::uint64_t key;
  std::uint32_t threshold;
  std::int64_t rows;
  const std::int64_t *first, *start;
  std::uint8_t* keep;
  int threads;
};

// The bits of features/dropout.py: one key per (seed, epoch, site).
static inline std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static inline std::uint64_t stream_key(std::uint64_t seed, std::uint64_t epoch,
                                       std::uint64_t site) {
  return splitmix64(splitmix64(splitmix64(seed) ^ epoch) ^ site);
}

// Entries of the fullest group of `group` consecutive rows.
static inline std::int64_t most_entries(const SparseRows& m, std::int64_t group) {
  std::int64_t most = 0;
  for (std::int64_t row = 0; row < m.rows; row += group) {
    const std::int64_t end = row + group < m.rows ? row + group : m.rows;
    const std::int64_t count = m.start[end] - m.start[row];
    most = count > most ? count : most;
  }
  return most;
}

}  // namespace elasticgnn
