// Sixteen floats side by side: the compiler maps them to the registers of the instruction set.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace elasticgnn {

constexpr int LANES = 16;
typedef float Vec16 __attribute__((vector_size(64)));
typedef float UnalignedVec16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::uint32_t Words16 __attribute__((vector_size(64)));
typedef std::uint32_t UnalignedWords __attribute__((vector_size(64), aligned(4), may_alias));

}  // namespace elasticgnn

namespace elasticgnn::ISA_NAMESPACE {
namespace {

// One register of the instruction set. Sums that live through a loop are kept in these: arrays of
// wider vectors go through memory at every step (GCC 12 on AVX2: a quarter of the speed).
#if defined(__AVX512F__)
constexpr int REGISTER = 16;
#elif defined(__AVX__)
constexpr int REGISTER = 8;
#else
constexpr int REGISTER = 4;
#endif
constexpr int REGISTERS = LANES / REGISTER;  // of one Vec16
typedef float Register __attribute__((vector_size(4 * REGISTER)));
typedef float UnalignedRegister __attribute__((vector_size(4 * REGISTER), aligned(4), may_alias));

[[gnu::always_inline]] inline Register load_register(const float* from) {
  return *reinterpret_cast<const UnalignedRegister*>(from);
}

[[gnu::always_inline]] inline void store_register(float* to, Register x) {
  *reinterpret_cast<UnalignedRegister*>(to) = x;
}

// out <- scale * sum_k value[k] * dense[index[k] * width ...], V * LANES numbers.
template <int V, class Index>
[[gnu::always_inline]] inline void weighted_rows(const Index* index, const float* value,
                                                 std::int64_t count, const float* dense,
                                                 std::int64_t width, float scale, float* out) {
  constexpr int R = V * REGISTERS;
  Register total[R] = {};
  for (std::int64_t k = 0; k < count; ++k) {
    const float* row = dense + index[k] * width;
    for (int r = 0; r < R; ++r) total[r] += value[k] * load_register(row + r * REGISTER);
  }
  for (int r = 0; r < R; ++r) store_register(out + r * REGISTER, scale * total[r]);
}

// The same for a whole row of `width` numbers, a multiple of LANES.
template <class Index>
inline void weighted_row(const Index* index, const float* value, std::int64_t count,
                         const float* dense, std::int64_t width, float scale, float* out) {
  std::int64_t at = 0;
  for (; at + 4 * LANES <= width; at += 4 * LANES)
    weighted_rows<4>(index, value, count, dense + at, width, scale, out + at);
  for (; at < width; at += LANES)
    weighted_rows<1>(index, value, count, dense + at, width, scale, out + at);
}

[[gnu::always_inline]] inline Vec16 load(const float* from) {
  return *reinterpret_cast<const UnalignedVec16*>(from);
}

[[gnu::always_inline]] inline void store(float* to, Vec16 x) {
  *reinterpret_cast<UnalignedVec16*>(to) = x;
}

// Zeroed memory of one thread. (std::vector would be linked once for all instruction sets.)
template <class T>
struct Zeroed {
  T* data;
  explicit Zeroed(std::int64_t count) : data(static_cast<T*>(std::calloc(count, sizeof(T)))) {}
  ~Zeroed() { std::free(data); }
  Zeroed(const Zeroed&) = delete;
  Zeroed& operator=(const Zeroed&) = delete;
};

[[gnu::always_inline]] inline std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

}  // namespace
}  // namespace elasticgnn::ISA_NAMESPACE
