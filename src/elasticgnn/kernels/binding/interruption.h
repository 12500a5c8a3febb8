// Ctrl-C inside the loops: Python's signal handlers run in the calling thread between steps.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <thread>

#include "threads/interrupt.h"

namespace elasticgnn {

class Interruption {
 public:
  Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption() { last_threads = interrupt_.threads; }

  // How many threads did the steps of this thread's last call.
  inline static thread_local int last_threads = 0;

  Interrupt* handle() { return &interrupt_; }

  // Throws what a signal handler raised, with the GIL.
  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kInterval =
      std::chrono::milliseconds(20);  // the GIL may have to be waited for

  // Python runs signal handlers in its main thread alone: other threads of a team need not ask.
  static bool wanted(void* context) {
    auto* self = static_cast<Interruption*>(context);
    if (std::this_thread::get_id() != self->caller_ || Clock::now() < self->next_) return false;
    nanobind::gil_scoped_acquire hold;
    self->next_ = Clock::now() + kInterval;
    if (PyErr_CheckSignals() == 0) return false;
    try {
      throw nanobind::python_error();
    } catch (...) {  // it must not leave the threads' loops
      self->raised_ = std::current_exception();
    }
    return true;
  }

  const std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point next_ = Clock::now() + kInterval;
  std::exception_ptr raised_;
  Interrupt interrupt_{&wanted, this};
};

}  // namespace elasticgnn
