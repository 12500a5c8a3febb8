// Sixteen floats side by side: the compiler maps them to the registers of the instruction set.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace elasticgnn {

constexpr int LANES = 16;
typedef float Lanes __attribute__((vector_size(64)));
typedef float UnalignedLanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::uint32_t WordLanes __attribute__((vector_size(64)));
typedef std::uint32_t UnalignedWords __attribute__((vector_size(64), aligned(4), may_alias));

}  // namespace elasticgnn

namespace elasticgnn::ISA_NAMESPACE {
namespace {

[[gnu::always_inline]] inline Lanes load(const float* from) {
  return *reinterpret_cast<const UnalignedLanes*>(from);
}

[[gnu::always_inline]] inline void store(float* to, Lanes x) {
  *reinterpret_cast<UnalignedLanes*>(to) = x;
}

// hash_position of sixteen positions.
[[gnu::always_inline]] inline WordLanes hash_lanes(WordLanes h, std::uint64_t key) {
  h += std::uint32_t(key);
  h ^= h >> 16;
  h *= 0x7FEB352Du;
  h ^= (h >> 15) ^ std::uint32_t(key >> 32);
  h *= 0x846CA68Bu;
  return h ^ (h >> 16);
}

// Zeroed memory of one thread. (std::vector would be linked once for all instruction sets.)
template <class T>
struct Scratch {
  T* data;
  explicit Scratch(std::int64_t count) : data(static_cast<T*>(std::calloc(count, sizeof(T)))) {}
  ~Scratch() { std::free(data); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

[[gnu::always_inline]] inline std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

}  // namespace
}  // namespace elasticgnn::ISA_NAMESPACE
