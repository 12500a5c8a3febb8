// Where the rows outside the ball go: how many there are is known only when a step is done.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emp_packed.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// Memory for the rows outside the ball of one thread: pieces that fill up one after the other.
struct Pieces {
  static constexpr int kMost = 32;
  float *at[kMost], *end[kMost];
  int now = 0, count = 0;
  std::size_t need = 0, largest = 0;  // floats that a step takes at most, and one chunk of it

  void plan(const PackedProblem& problem, int lanes, int part, int parts) {
    const std::int64_t chunks = problem.graph.num_chunks, low = chunks * part / parts;
    for (std::int64_t c = low; c < chunks * (part + 1) / parts; ++c) {
      const std::size_t most = most_floats(problem, lanes, c);
      need += most;
      largest = most > largest ? most : largest;
    }
    need += largest;  // the end of a piece may stay unused
  }
  // Floats to ask for before the next step.
  std::size_t wish() {
    if (count - now == kMost) ++now;
    std::size_t room = 0;
    for (int k = now; k < count; ++k) room += std::size_t(end[k] - at[k]);
    if (room >= need) return 0;
    const std::size_t missing = need - room + largest;
    return missing > need / 8 ? missing : need / 8;
  }
  void add(float* base, std::size_t floats) {
    int kept = 0;
    for (int k = now; k < count; ++k, ++kept) at[kept] = at[k], end[kept] = end[k];
    now = 0, count = kept + 1;
    at[kept] = base, end[kept] = base + floats;
  }
  float*& place(std::size_t floats) {
    while (std::size_t(end[now] - at[now]) < floats) ++now;
    return at[now];
  }
  // Floats that the rows of a chunk take if all are outside; 16 more, because rows are written whole.
  static std::size_t most_floats(const PackedProblem& problem, int lanes, std::int64_t chunk) {
    const PackedGraph& g = problem.graph;
    const std::int64_t rows = std::int64_t(g.group[g.chunk[chunk + 1]] - g.group[g.chunk[chunk]]) * (16 / lanes);
    return std::size_t(rows * (problem.width + 1) + 16);
  }
};

// Room for the rows of the next step in every thread's pieces; false if there is no memory.
bool make_room(const PackedKept& kept, Pieces* pieces, int parts) {
  std::size_t wish[kMostThreads], all = 0;
  for (int t = 0; t < parts; ++t) all += wish[t] = pieces[t].wish();
  if (all == 0) return true;
  float* base = kept.more(kept.context, all);
  if (base == nullptr) return false;
  for (int t = 0; t < parts; base += wish[t], ++t)
    if (wish[t]) pieces[t].add(base, wish[t]);
  return true;
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
