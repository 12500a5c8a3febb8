#include <nanobind/nanobind.h>

#include "binding/interruption.h"
#include "binding/scratch.h"
#include "simd/tuning.h"

namespace nb = nanobind;

namespace elasticgnn {

void bind_calls(nb::module_& module) {
  nb::class_<Tuning>(module, "Tuning", "Thresholds and cache sizes of the loops (simd/tuning.h).")
      .def_rw("cache_bytes", &Tuning::cache_bytes)
      .def_rw("work_per_thread", &Tuning::work_per_thread)
      .def_rw("registers_per_thread", &Tuning::registers_per_thread)
      .def_rw("lazy_steps", &Tuning::lazy_steps)
      .def_rw("lazy_edges_per_row", &Tuning::lazy_edges_per_row)
      .def_rw("shared_cache_bytes", &Tuning::shared_cache_bytes)
      .def_rw("stores_past_caches", &Tuning::stores_past_caches)
      .def_rw("bytes_below_for_nodes", &Tuning::bytes_below_for_nodes)
      .def_rw("slots_per_visit", &Tuning::slots_per_visit)
      .def_rw("ahead_edges", &Tuning::ahead_edges)
      .def_rw("scratch_bytes", &Tuning::scratch_bytes)
      .def_rw("reclaimable_bytes", &Tuning::reclaimable_bytes);
  module.attr("tuning") = nb::cast(&tuning, nb::rv_policy::reference);
  module.def(
      "last_threads", [] { return Interruption::last_threads; },
      "Threads that did the steps of this thread's last call.");
  module.def("scratch_bytes", &Scratch::pool_bytes,
             "Bytes of scratch that this thread has in its pool for the next call.");
  module.def("scratch_most", &Scratch::most_bytes,
             "The most that a call took since the last clear.");
  module.def("scratch_clear", &Scratch::clear, "Give this thread's scratch back to the system.");
  module.def("scratch_fill", &Scratch::fill, "Set every byte of this thread's scratch.");
}

}  // namespace elasticgnn
