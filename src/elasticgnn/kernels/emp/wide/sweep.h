// The sweep over the edges of a tile that the wide steps and their adjoint share.
#pragma once

#include "emp/wide/lazy.h"
#include "emp/wide/tiles.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// What a sweep reads and writes.
template <class Row, class T>
struct SweptTables {
  const Row row;
  const WideTiles& tiles;
  std::int64_t num_nodes, num_edges;
  T *pair, *dual;           // (n, 2, stride), (m, stride)
  std::uint8_t* changed;    // (m): emp/wide/lazy.h
  typename Row::Vec* pool;  // of this thread

  // Whether the rows of the nodes are more than a core's own cache holds.
  bool is_far() const { return 2 * num_nodes * row.bytes() > tuning.cache_bytes / 4 * 3; }
};

// For each of the edges first .. last - 1 `renew(e, own, other, here, z)` makes the new row z of
// the dual from the rows of its ends and its own old row, and gives the weight with which z is
// added to the sum of the tail and taken from that of the head. A lazy step's renew stores what is
// to be stored.
template <class Row, class T, class Renew>
ELASTICGNN_INLINE void sweep_edges(const SweptTables<Row, T>& tables, std::int64_t first,
                                   std::int64_t last, DualStep step, const Renew& renew) {
  using Vec = typename Row::Vec;
  const Row row = tables.row;
  const std::int64_t stride = row.stride(), last_edge = tables.num_edges - 1,
                     ahead = row.ahead_edges();
  const std::int32_t *const tail = tables.tiles.tail, *const head = tables.tiles.head;
  T *const pair = tables.pair, *const dual = tables.dual;
  const bool far = tables.is_far(), stores_all = step.stores_all(), past_caches = step.past_caches,
             reads_all = step.reads_all();
  typename Row::Vectors sum(tables.pool), z(tables.pool + row.count());
  for (std::int64_t e = first; e < last;) {
    const std::int64_t t = tail[e];
    T *const own = pair + 2 * t * stride, *const own_sum = own + stride;
    if (far) row.prefetch(own + 2 * kTailsAhead * stride, 2 * stride);
    row.each([&](int v) ELASTICGNN_INLINE_LAMBDA { sum[v] = row.load(own_sum, v); });
    do {
      if (far) {
        const std::int64_t next = head[e + ahead < last_edge ? e + ahead : last_edge];
        row.prefetch(pair + 2 * next * stride, 2 * stride);
      }
      if (reads_all) row.prefetch(dual + (e + ahead) * stride, stride);
      T* const other = pair + 2 * std::int64_t(head[e]) * stride;
      T *const other_sum = other + stride, *const here = dual + e * stride;
      const Vec w = renew(e, own, other, here, z);
      if (past_caches) row.each([&](int v) ELASTICGNN_INLINE_LAMBDA { row.stream(here, v, z[v]); });
      else if (stores_all)
        row.each([&](int v) ELASTICGNN_INLINE_LAMBDA { row.store(here, v, z[v]); });
      row.each([&](int v) ELASTICGNN_INLINE_LAMBDA {
        const Vec part = w * z[v];
        sum[v] += part;
        row.store(other_sum, v, row.load(other_sum, v) - part);
      });
    } while (++e < last && tail[e] == t);
    row.each([&](int v) ELASTICGNN_INLINE_LAMBDA { row.store(own_sum, v, sum[v]); });
  }
  if (past_caches) Row::P::finish_streams();
}

// here = z - (own - other): C of a row that was just projected (emp/wide/lazy.h)
template <class Row, class T>
ELASTICGNN_INLINE void store_change(const Row& row, T* here, const T* own, const T* other,
                                    typename Row::Vectors& z) {
  row.each([&](int v) ELASTICGNN_INLINE_LAMBDA {
    row.store(here, v, z[v] - (row.load(own, v) - row.load(other, v)));
  });
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
