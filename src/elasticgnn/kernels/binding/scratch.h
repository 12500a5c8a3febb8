// Scratch of the loops, kept from call to call: fresh memory comes from the system page by page,
// each of them cleared, which can cost as much as a step. Large scratch is lent to the system
// meanwhile: it may take the pages back at any time, but does so only when memory is short
// (MADV_FREE). No Python is called, so nothing can be raised when it is given back.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "simd/tuning.h"

namespace elasticgnn {

class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : buffer_(take(bytes)), used_(bytes) {}
  // A call within the call got another buffer; the last one that comes back stays.
  ~Scratch() {
    if (buffer_.bytes > std::size_t(tuning.reclaimable_bytes)) return;
    if (used_ <= std::size_t(tuning.scratch_bytes) || release()) pool() = std::move(buffer_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  char* data() const { return buffer_.memory.get(); }

  // What this thread keeps, and the most that it took since `clear`: for tests and for measurements
  // of memory.
  static std::size_t pool_bytes() { return pool().bytes; }
  static std::size_t most_bytes() { return most(); }
  static void clear() { pool() = Buffer{}, most() = 0; }
  static void fill(int byte) { std::memset(pool().memory.get(), byte, pool().bytes); }

 private:
  static constexpr std::size_t kAlignment = 64, kHugePage = std::size_t(1) << 21;

  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  struct Buffer {
    std::unique_ptr<char, Free> memory;
    std::size_t bytes = 0;
  };

  static Buffer take(std::size_t bytes) {
    Buffer buffer = std::move(pool());
    pool() = Buffer{};
    most() = bytes > most() ? bytes : most();
    if (buffer.bytes >= bytes && buffer.memory) return buffer;
    buffer = Buffer{};  // before there is a larger one
    const std::size_t alignment = bytes < 2 * kHugePage ? kAlignment : kHugePage;
    bytes = (bytes / alignment + 1) * alignment;
    buffer.memory.reset(static_cast<char*>(std::aligned_alloc(alignment, bytes)));
    if (!buffer.memory) throw std::bad_alloc();
#if defined(__linux__)  // rows are read in any order: a page of 4 KB each would often be looked up
                        // anew
    if (alignment == kHugePage) madvise(buffer.memory.get(), bytes, MADV_HUGEPAGE);
#endif
    buffer.bytes = bytes;
    return buffer;
  }
  // Whether the system now may take the pages of the buffer.
  bool release() const {
#if defined(__linux__) && defined(MADV_FREE)
    return madvise(buffer_.memory.get(), buffer_.bytes, MADV_FREE) == 0;
#else
    return false;
#endif
  }
  static Buffer& pool() {
    static thread_local Buffer buffer;
    return buffer;
  }

  static std::size_t& most() {
    static thread_local std::size_t bytes = 0;
    return bytes;
  }

  Buffer buffer_;
  std::size_t used_;
};

}  // namespace elasticgnn
