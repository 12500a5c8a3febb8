// Choice of the instruction set: one table of function pointers per kernel, filled when the module
// loads.
#pragma once

#include <string>

namespace elasticgnn {

enum class Isa { baseline = 0, avx2 = 1, avx512 = 2 };

// The best set that this build and this CPU have, or the one that the environment variable
// ELASTICGNN_SIMD names.
Isa chosen_isa();
std::string isa_name(Isa isa);

}  // namespace elasticgnn

// Declares `signature` (a function or a template specialisation's name list) in every namespace:
//   ELASTICGNN_DECLARE(void triad(const float*, const float*, float*, long, int);)
// ELASTICGNN_PICK(triad) is then the pointer of the chosen one.
#if defined(ELASTICGNN_ONLY)  // the one set that was built: ARM's, or this machine's
                              // (CMakeLists.txt, ELASTICGNN_SETS)
#define ELASTICGNN_BUILT ::elasticgnn::Isa::ELASTICGNN_ONLY
#define ELASTICGNN_DECLARE(...)           \
  namespace elasticgnn::ELASTICGNN_ONLY { \
  __VA_ARGS__                             \
  }
#define ELASTICGNN_PICK(name) (&::elasticgnn::ELASTICGNN_ONLY::name)
#else
#define ELASTICGNN_BUILT \
  ::elasticgnn::Isa::baseline, ::elasticgnn::Isa::avx2, ::elasticgnn::Isa::avx512
#define ELASTICGNN_DECLARE(...)    \
  namespace elasticgnn::baseline { \
  __VA_ARGS__                      \
  }                                \
  namespace elasticgnn::avx2 {     \
  __VA_ARGS__                      \
  }                                \
  namespace elasticgnn::avx512 {   \
  __VA_ARGS__                      \
  }
#define ELASTICGNN_PICK(name)                                                            \
  (::elasticgnn::chosen_isa() == ::elasticgnn::Isa::avx512 ? &::elasticgnn::avx512::name \
   : ::elasticgnn::chosen_isa() == ::elasticgnn::Isa::avx2 ? &::elasticgnn::avx2::name   \
                                                           : &::elasticgnn::baseline::name)
#endif
