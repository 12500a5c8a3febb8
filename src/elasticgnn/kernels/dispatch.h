// Choice of the instruction set: one table of function pointers per kernel, filled when the module loads.
#pragma once

#include <string>

namespace elasticgnn {

enum class Isa { baseline = 0, avx2 = 1, avx512 = 2 };

// The best set this CPU has, or the one that the environment variable ELASTICGNN_SIMD names.
Isa chosen_isa();
std::string isa_name(Isa isa);

}  // namespace elasticgnn

// Declares `signature` (a function or a template specialisation's name list) in every namespace:
//   ELASTICGNN_DECLARE(void triad(const float*, const float*, float*, long, int);)
// ELASTICGNN_PICK(triad) is then the pointer of the chosen one.
#if defined(__x86_64__)
#define ELASTICGNN_DECLARE(...)            \
  namespace elasticgnn::baseline { __VA_ARGS__ } \
  namespace elasticgnn::avx2 { __VA_ARGS__ }     \
  namespace elasticgnn::avx512 { __VA_ARGS__ }
#define ELASTICGNN_PICK(name)                                                         \
  (::elasticgnn::chosen_isa() == ::elasticgnn::Isa::avx512 ? &::elasticgnn::avx512::name \
   : ::elasticgnn::chosen_isa() == ::elasticgnn::Isa::avx2 ? &::elasticgnn::avx2::name   \
                                                           : &::elasticgnn::baseline::name)
#else
#define ELASTICGNN_DECLARE(...) namespace elasticgnn::baseline { __VA_ARGS__ }
#define ELASTICGNN_PICK(name) (&::elasticgnn::baseline::name)
#endif
