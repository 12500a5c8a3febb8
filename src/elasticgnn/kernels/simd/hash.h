// The hash of features/dropout.py, of a position or of several side by side.
#pragma once

#include <cstdint>

namespace elasticgnn {

// Words: a 32-bit number, or a vector of them.
template <class Words>
[[gnu::always_inline]] static inline Words hash_position(Words x, std::uint64_t key) {
  x += std::uint32_t(key);
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= (x >> 15) ^ std::uint32_t(key >> 32);
  x *= 0x846CA68Bu;
  return x ^ (x >> 16);
}

}  // namespace elasticgnn
