// From the columns of an edge list to undirected edges, and from those to slots: by counting,
// without a comparison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace elasticgnn {

// first[k] = how many keys are below k, for keys 0 .. n - 1
template <class Key>
std::vector<std::int64_t> count_below(std::int64_t n, std::int64_t count, const Key& key) {
  std::vector<std::int64_t> first(n + 1, 0);
  for (std::int64_t c = 0; c < count; ++c) ++first[key(c) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

// Columns (source, target); self-loops belong to no edge.
struct Columns {
  std::int64_t num_nodes, count;
  const std::int64_t *source, *target;

  std::int64_t low(std::int64_t c) const { return std::min(source[c], target[c]); }
  std::int64_t high(std::int64_t c) const { return std::max(source[c], target[c]); }

  // The columns sorted by lower and then by higher end: two stable passes, the less important end
  // first.
  std::vector<std::int64_t> sorted() const {
    std::vector<std::int64_t> by_high(count), order(count);
    std::vector<std::int64_t> next =
        count_below(num_nodes, count, [this](std::int64_t c) { return high(c); });
    for (std::int64_t c = 0; c < count; ++c) by_high[next[high(c)]++] = c;
    next = count_below(num_nodes, count, [this](std::int64_t c) { return low(c); });
    for (const std::int64_t c : by_high) order[next[low(c)]++] = c;
    return order;
  }
};

struct MergedEdges {
  std::int64_t *tail, *head;  // (columns), of which as many are filled as there are edges
  double *against,
      *along;  // (columns), likewise: how many columns lead from head to tail and from tail to head
  std::int64_t* edge;  // (columns): the edge of each column, -1 for a self-loop
};

struct MergeCounts {
  std::int64_t edges, loops;
  bool is_simple;  // one column in each direction of every edge
};

inline MergeCounts merge_columns(const Columns& columns, const MergedEdges& out) {
  std::int64_t edges = 0, loops = 0;
  for (const std::int64_t c : columns.sorted()) {
    const std::int64_t low = columns.low(c), high = columns.high(c);
    if (low == high) {
      out.edge[c] = -1, ++loops;
      continue;
    }
    if (edges == 0 || out.tail[edges - 1] != low || out.head[edges - 1] != high) {
      out.tail[edges] = low, out.head[edges] = high;
      out.against[edges] = out.along[edges] = 0;
      ++edges;
    }
    out.edge[c] = edges - 1;
    ++(columns.source[c] == low ? out.along : out.against)[edges - 1];
  }
  const auto is_one = [](double count) { return count == 1; };
  return {edges, loops,
          std::all_of(out.against, out.against + edges, is_one) &&
              std::all_of(out.along, out.along + edges, is_one)};
}

struct SlotTables {
  std::int64_t* start;          // (n + 1)
  std::int32_t *column, *edge;  // (2m)
};

// The slots of edges sorted by tail and head. A node's slots down come before those up, and each of
// them in the order of the edges, which is that of their other ends.
inline void fill_slots(std::int64_t n, std::int64_t m, const std::int64_t* tail,
                       const std::int64_t* head, const SlotTables& out) {
  std::vector<std::int64_t> down(n, 0), up(n, 0);
  for (std::int64_t e = 0; e < m; ++e) ++down[head[e]], ++up[tail[e]];
  out.start[0] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    out.start[i + 1] = out.start[i] + down[i] + up[i];
    up[i] = out.start[i] + down[i], down[i] = out.start[i];  // now where the next one goes
  }
  for (std::int64_t e = 0; e < m; ++e) {
    const std::int64_t from = up[tail[e]]++, to = down[head[e]]++;
    out.column[from] = std::int32_t(head[e]), out.edge[from] = std::int32_t(e);
    out.column[to] = std::int32_t(tail[e]), out.edge[to] = std::int32_t(e);
  }
}

}  // namespace elasticgnn
