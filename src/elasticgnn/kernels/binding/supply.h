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

// Where a torch tensor lies, which the caller keeps alive.
inline char* memory_of(const nanobind::object& buffer) {
  return at<char>(nanobind::cast<Address>(buffer.attr("data_ptr")()));
}

// More memory while the loops run without the GIL; any of their threads may ask.
template <class T>
struct Supply {
  const nanobind::callable& allocate;
  std::exception_ptr failure;

  static T* more(void* context, std::size_t count) {
    auto* supply = static_cast<Supply*>(context);
    nanobind::gil_scoped_acquire hold;
    try {
      return reinterpret_cast<T*>(memory_of(supply->allocate(count * sizeof(T))));
    } catch (...) {  // an exception must not leave the threads' loops
      supply->failure = std::current_exception();
      return nullptr;
    }
  }
};

}  // namespace elasticgnn
