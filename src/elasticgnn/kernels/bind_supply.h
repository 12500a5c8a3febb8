// Memory for the loops that Python owns, and addresses as pointers.
#pragma once

#include <nanobind/nanobind.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <exception>

namespace elasticgnn {

using Address = std::uintptr_t;

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

// Large pages for large memory: gathers then rarely miss the table of pages, and there are fewer to hand out.
inline void ask_for_large_pages(Address first, std::size_t bytes) {
#if defined(__linux__)
  constexpr Address kPage = 1 << 21;
  const Address low = (first + kPage - 1) / kPage * kPage, high = (first + bytes) / kPage * kPage;
  if (low < high) madvise(at<void>(low), high - low, MADV_HUGEPAGE);  // a wish: it may be refused
#endif
}

// Memory from `allocate(bytes)`, a torch tensor that `allocate` or the caller keeps alive.
inline char* memory_of(const nanobind::object& buffer, std::size_t bytes) {
  const auto first = nanobind::cast<Address>(buffer.attr("data_ptr")());
  ask_for_large_pages(first, bytes);
  return at<char>(first);
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
      return reinterpret_cast<T*>(memory_of(supply->allocate(count * sizeof(T)), count * sizeof(T)));
    } catch (...) {  // an exception must not leave the threads' loops
      supply->failure = std::current_exception();
      return nullptr;
    }
  }
};

}  // namespace elasticgnn
