// Memory for the loops that Python owns, and addresses as pointers.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>

namespace elasticgnn {

using Address = std::uintptr_t;

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

// More memory while the loops run without the GIL; any of their threads may ask. Python is asked
// for so many bytes and answers with their address.
template <class T>
struct Supply {
  const nanobind::callable& allocate;
  std::exception_ptr failure;

  static T* more(void* context, std::size_t count) {
    auto* supply = static_cast<Supply*>(context);
    nanobind::gil_scoped_acquire hold;
    try {
      return at<T>(nanobind::cast<Address>(supply->allocate(count * sizeof(T))));
    } catch (...) {  // an exception must not leave the threads' loops
      supply->failure = std::current_exception();
      return nullptr;
    }
  }
};

}  // namespace elasticgnn
