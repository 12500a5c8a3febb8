// Loops compiled for each number of channels, chosen when they are called.
#pragma once

#include <type_traits>

#include "solver/interior.h"

namespace elasticgnn::ISA_NAMESPACE {

// run(number): the loops for d channels
template <class Run>
auto with_channels(int channels, const Run& run) {
  switch (channels) {
    case 1:
      return run(std::integral_constant<int, 1>());
    case 2:
      return run(std::integral_constant<int, 2>());
    case 3:
      return run(std::integral_constant<int, 3>());
    case 4:
      return run(std::integral_constant<int, 4>());
    case 5:
      return run(std::integral_constant<int, 5>());
    case 6:
      return run(std::integral_constant<int, 6>());
    case 7:
      return run(std::integral_constant<int, 7>());
    default:
      return run(std::integral_constant<int, INTERIOR_CHANNELS>());
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
