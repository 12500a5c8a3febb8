// The one way from Python into the loops. Arrays come as addresses (0: not given), or as buffers
// where they are numpy's, which Python made or checked and keeps alive; a kernel takes structs of
// pointers and numbers.
#pragma once

#include <nanobind/nanobind.h>

#include <type_traits>

#include "binding/buffers.h"
#include "binding/interruption.h"
#include "binding/scratch.h"
#include "binding/supply.h"

namespace elasticgnn {

// Runs a kernel without the GIL: `Result kernel(const Jobs&...)`.
template <class Kernel, class... Jobs>
auto call(Kernel kernel, const Jobs&... jobs) {
  const nanobind::gil_scoped_release release;
  return kernel(jobs...);
}

// The same for a kernel that asks between its steps whether to end: `Result kernel(const Jobs&...,
// Interrupt&)`. What a signal handler raised is raised here.
template <class Kernel, class... Jobs>
auto call_interruptible(Kernel kernel, const Jobs&... jobs) {
  Interruption interruption;
  const auto run = [&] {
    const nanobind::gil_scoped_release release;
    return kernel(jobs..., *interruption.handle());
  };
  if constexpr (std::is_void_v<decltype(run())>) {
    run();
    interruption.rethrow();
  } else {
    const auto out = run();
    interruption.rethrow();
    return out;
  }
}

// The same for a kernel with steps and scratch: `std::size_t kernel(const Problem&, const Jobs&...,
// char* scratch)` gives the bytes that it needs where scratch is null. What a signal handler raised
// between two steps is raised here.
template <class Kernel, class Problem, class... Jobs>
void call_steps(Kernel kernel, Problem problem, const Jobs&... jobs) {
  Interruption interruption;
  problem.interrupt = interruption.handle();
  const Scratch scratch(kernel(problem, jobs..., nullptr));
  call(kernel, problem, jobs..., scratch.data());
  interruption.rethrow();
}

}  // namespace elasticgnn
