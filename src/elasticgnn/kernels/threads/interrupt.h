// How a call ends early: its first thread asks between steps whether the caller wants that.
#pragma once

#include <cstdint>
#include <limits>

namespace elasticgnn {

struct Interrupt {
  bool (*wanted)(void* context);
  void* context;
  int threads = 0;  // of the team that did the steps
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();  // which the team still does
};

}  // namespace elasticgnn
