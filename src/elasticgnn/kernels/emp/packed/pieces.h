// Where the active rows go: how many there are is known only when a chunk is done.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emp/packed/problem.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// One thread's memory for such rows: when a piece is nearly full, the next one is asked for.
struct Piece {
  static constexpr std::size_t kLeast = 4096;
  float *at = nullptr, *begin = nullptr, *end = nullptr;
  std::size_t step = 0;             // floats that a step may take
  std::int64_t left = 0, done = 0;  // chunks that are still to come, and those in this piece

  void plan(const PackedProblem& problem, int lanes, std::int64_t low, std::int64_t high) {
    for (std::int64_t c = low; c < high; ++c) step += most_floats(problem, lanes, c);
    left = (high - low) * problem.steps;
  }
  // Room for the rows of the next chunk at `at`; false if there is no memory.
  bool reserve(const PackedProblem& problem, int lanes, std::int64_t chunk,
               const PackedActiveRows& active) {
    const std::size_t most = most_floats(problem, lanes, chunk);
    if (!at || std::size_t(end - at) < most) {
      std::size_t floats = step / 3 < kLeast ? kLeast : step / 3;
      if (done) {  // as large as the piece before makes expect: a call for memory costs as much as
                   // a small chunk
        const std::size_t rest = std::size_t(at - begin) / done * left * 9 / 8 + most;
        floats = rest < step ? rest : step;
      }
      floats = floats < most ? most : floats;
      begin = at = active.more(active.context, floats);
      if (!at) return false;
      end = at + floats, done = 0;
    }
    ++done, --left;
    return true;
  }
  // Floats that the rows of a chunk take if all are active; 16 more, because rows are written
  // whole.
  static std::size_t most_floats(const PackedProblem& problem, int lanes, std::int64_t chunk) {
    const PackedGraph& g = problem.graph;
    const std::int64_t rows =
        std::int64_t(g.group[g.chunk[chunk + 1]] - g.group[g.chunk[chunk]]) * (16 / lanes);
    return std::size_t(rows * (problem.width + 1) + 16);
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
