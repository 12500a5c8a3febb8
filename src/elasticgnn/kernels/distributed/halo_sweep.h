// Passes over owned nodes in which a node is finished when all edges it needs have been updated.
#pragma once

#include <omp.h>

#include "halo_rows.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

HALO_INLINE std::int64_t share_of(const HaloPass& pass, int thread, int threads) {
  return pass.begin + (pass.end - pass.begin) * thread / threads;
}

// Calls node(i) for all rows of the pass; nodes are independent.
template <class Node>
void each_node(const HaloPass& pass, const Node& node) {
#pragma omp parallel num_threads(pass.threads) if (pass.threads > 1)
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const std::int64_t last = share_of(pass, thread + 1, threads);
    for (std::int64_t i = share_of(pass, thread, threads); i < last; ++i) node(i);
  }
}

// lead(i) updates the edges that node i leads; finish(i) reads all edges of i. A node whose edges
// are led by nodes of another thread's share is finished after all leads: the same additions in the
// same order on any number of threads.
template <class T, class Lead, class Finish>
void lead_and_finish(const HaloGraph<T>& graph, const HaloPass& pass, const Lead& lead,
                     const Finish& finish) {
#pragma omp parallel num_threads(pass.threads) if (pass.threads > 1)
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const std::int64_t first = share_of(pass, thread, threads),
                       last = share_of(pass, thread + 1, threads);
    const std::int64_t low = graph.lead[pass.begin], own = graph.lead[first];
    const auto waits = [&](std::int64_t i) {
      if (thread == 0) return false;
      for (std::int64_t p = graph.start[i]; p < graph.start[i + 1]; ++p)
        if (graph.edge[p] >= low && graph.edge[p] < own) return true;
      return false;
    };
    for (std::int64_t i = first; i < last; ++i) {
      lead(i);
      if (!waits(i)) finish(i);
    }
    if (threads > 1) {
#pragma omp barrier
      for (std::int64_t i = first; i < last; ++i)
        if (waits(i)) finish(i);
    }
  }
}

// Long rows are summed in pieces of this many vectors, which stay in registers.
constexpr int kPiece = 8;

// For each piece of a row: add(sum, count, piece, p) for the slots p of node i in their order, then
// done(v, sum) for every vector v of the piece.
template <class T, class R, class Add, class Done>
HALO_INLINE void sum_slots(const HaloGraph<T>& graph, const R& row, std::int64_t i, const Add& add,
                           const Done& done) {
  using Vec = typename R::Vec;
  const std::int64_t begin = graph.start[i], end = graph.start[i + 1];
  for (int piece = 0; piece < row.count(); piece += kPiece) {
    const int count = row.count() - piece < kPiece ? row.count() - piece : kPiece;
    Vec sum[kPiece];
    for (int v = 0; v < count; ++v) sum[v] = Vec{};
    for (std::int64_t p = begin; p < end; ++p) add(sum, count, piece, p);
    for (int v = 0; v < count; ++v) done(piece + v, sum[v]);
  }
}

// Rows that random numbers `index` choose, asked for a few entries before they are read: the caches
// cannot guess them. `last` is the end of the numbers.
template <class R, class T>
struct Ahead {
  const R& row;
  const T* rows;
  const std::int32_t* index;
  std::int64_t last;
  HALO_INLINE void fetch(std::int64_t p) const {
    const std::int64_t distance = row.stride() * sizeof(T) <= 64 ? 40 : 16;
    if (p + distance >= last) return;
    const auto* at = reinterpret_cast<const char*>(rows + index[p + distance] * row.stride());
    for (std::int64_t byte = 0; byte < row.stride() * std::int64_t(sizeof(T)); byte += 64)
      __builtin_prefetch(at + byte);
  }
};

// +1 for an edge that its node leads, which are those from `first` on, else -1: no branch, since
// the loops over a node's edges would guess it wrong about once a node.
template <class T>
HALO_INLINE T sign_of(std::int64_t e, std::int64_t first) {
  constexpr T signs[2] = {T(1), T(-1)};
  return signs[e < first];
}

}  // namespace
}  // namespace elasticgnn::ISA_NAMESPACE
