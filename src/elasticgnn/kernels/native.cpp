// The module elasticgnn.kernels._native: every family of kernels binds itself (bind_*.cpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "binding/dispatch.h"
#include "simd/tuning.h"

namespace nb = nanobind;

namespace elasticgnn {

namespace {

// Values of simd/tuning.h that differ by the maker of the processor.
Tuning tuned() {
  Tuning values;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("intel")) {  // benchmarks/bench_wide.py: hubs and 70 % near gain by both
    values.stores_past_caches = false;
    values.bytes_below_for_nodes = 4096;
  }
#endif
  return values;
}

}  // namespace

Tuning tuning = tuned();

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

std::vector<Isa> usable_sets() {
  std::vector<Isa> sets;
  for (Isa isa : {ELASTICGNN_BUILT})
    if (isa <= best_isa()) sets.push_back(isa);
  return sets;
}

std::string names_of(const std::vector<Isa>& sets) {
  std::string names;
  for (Isa isa : sets) names += (names.empty() ? "" : ", ") + isa_name(isa);
  return names;
}

Isa read_isa() {
  const std::vector<Isa> sets = usable_sets();
  if (sets.empty())
    throw std::runtime_error(
        "elasticgnn was built for " + names_of({ELASTICGNN_BUILT}) +
        " alone, which this CPU does not have: install it again on this machine");
  const char* wanted = std::getenv("ELASTICGNN_SIMD");
  if (wanted == nullptr || *wanted == '\0') return sets.back();
  for (Isa isa : sets)
    if (isa_name(isa) == wanted) return isa;
  throw std::runtime_error("ELASTICGNN_SIMD must be a set that this build and this CPU have (" +
                           names_of(sets) + "), got " + wanted);
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
  nb::list sets;
  for (elasticgnn::Isa isa : elasticgnn::usable_sets()) sets.append(elasticgnn::isa_name(isa));
  module.attr("simd_sets") = nb::tuple(sets);
#define ELASTICGNN_FAMILY(name) elasticgnn::name(module);
#include "families.inc"
#undef ELASTICGNN_FAMILY
}
