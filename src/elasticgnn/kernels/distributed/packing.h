// Rows of a larger array one after another, as they are sent, and back.
#pragma once

#include <cstdint>
#include <cstring>

namespace elasticgnn {

// The first `width` bytes of some rows, which begin every `stride` bytes.
struct ChosenRows {
  const char* rows;
  std::int64_t stride, width;
  const std::int64_t* index;
  std::int64_t count;
};

struct ConsecutiveRows {
  char* rows;
  std::int64_t stride, width, count;
};

inline void pack_rows(const ChosenRows& from, char* to) {
  for (std::int64_t k = 0; k < from.count; ++k)
    std::memcpy(to + k * from.width, from.rows + from.index[k] * from.stride, from.width);
}

inline void unpack_rows(const char* from, const ConsecutiveRows& to) {
  for (std::int64_t k = 0; k < to.count; ++k)
    std::memcpy(to.rows + k * to.stride, from + k * to.width, to.width);
}

}  // namespace elasticgnn
