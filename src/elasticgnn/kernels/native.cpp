// The module elasticgnn.kernels._native: every family of kernels binds itself (bind_*.cpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <stdexcept>

#include "dispatch.h"

namespace nb = nanobind;

namespace elasticgnn {

namespace {

Isa best_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    return Isa::avx2;
#endif
  return Isa::baseline;
}

Isa read_isa() {
  const Isa best = best_isa();
  const char* wish = std::getenv("ELASTICGNN_SIMD");
  if (wish == nullptr || *wish == '\0') return best;
  for (Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
    if (isa_name(isa) == wish) {
      if (isa > best)
        throw std::runtime_error("ELASTICGNN_SIMD must be a set this CPU has (at most " +
                                 isa_name(best) + "), got " + wish);
      return isa;
    }
  throw std::runtime_error(std::string("ELASTICGNN_SIMD must be baseline, avx2 or avx512, got ") +
                           wish);
}

}  // namespace

std::string isa_name(Isa isa) {
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "baseline";
}

Isa chosen_isa() {
  static const Isa isa = read_isa();
  return isa;
}

#define ELASTICGNN_FAMILY(name) void name(nb::module_& module);
#include "families.inc"
#undef ELASTICGNN_FAMILY

}  // namespace elasticgnn

NB_MODULE(_native, module) {
  module.attr("simd") = elasticgnn::isa_name(elasticgnn::chosen_isa());
#define ELASTICGNN_FAMILY(name) elasticgnn::name(module);
#include "families.inc"
#undef ELASTICGNN_FAMILY
}
