// Numbers in memory that two processes share: one says with them that rows are there, the other
// waits for them. A message through a socket takes a quarter of a millisecond; this takes a few
// microseconds, which is what narrow rows need.
#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

#include "binding/call.h"

namespace nb = nanobind;

namespace elasticgnn {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSpins = 2000;  // about 20 microseconds: the other process is on another core
constexpr auto kYielding = std::chrono::microseconds(500);  // several processes share a core
constexpr auto kNap = std::chrono::microseconds(50);

struct Awaited {
  const std::uint64_t* word;
  std::uint64_t number;
  double seconds;

  bool is_there() const { return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= number; }
};

// Everything written before is seen by whoever finds the number.
void announce(Address word, std::uint64_t number) {
  __atomic_store_n(at<std::uint64_t>(word), number, __ATOMIC_RELEASE);
}

bool spin(const Awaited& awaited) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (awaited.is_there()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

bool wait(const Awaited& awaited) {
  const auto began = Clock::now();
  const auto limit = std::chrono::duration<double>(awaited.seconds);
  while (!awaited.is_there()) {
    const auto waited = Clock::now() - began;
    if (waited > limit) return false;
    if (waited < kYielding) std::this_thread::yield();
    else std::this_thread::sleep_for(kNap);
  }
  return true;
}

// Whether the number is there within so many seconds. The spins are too short to give up the GIL.
bool await_number(Address address, std::uint64_t number, double seconds) {
  const Awaited awaited{at<std::uint64_t>(address), number, seconds};
  return spin(awaited) || call(wait, awaited);
}

}  // namespace

void bind_arrivals(nb::module_& module) {
  module.def("halo_announce", &announce, "address of the word, number");
  module.def("halo_await", &await_number, "address of the word, number, seconds -> found");
}

}  // namespace elasticgnn
