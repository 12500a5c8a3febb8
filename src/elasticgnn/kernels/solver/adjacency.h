// Neighbours of each node, without itself: those of node i are node[start[i]] to node[start[i+1]].
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace elasticgnn {

struct Adjacency {
  std::vector<std::int32_t> start, node;

  std::int32_t size() const { return std::int32_t(start.size()) - 1; }
  std::int32_t degree(std::int32_t i) const { return start[i + 1] - start[i]; }
  const std::int32_t* begin(std::int32_t i) const { return node.data() + start[i]; }
  const std::int32_t* end(std::int32_t i) const { return node.data() + start[i + 1]; }
};

// Both directions of the entries off the diagonal, each of which is listed once.
inline Adjacency adjacency(std::int32_t nodes, std::int64_t entries, const std::int32_t* row,
                           const std::int32_t* column) {
  Adjacency out{std::vector<std::int32_t>(nodes + 1), {}};
  for (std::int64_t e = 0; e < entries; ++e)
    if (row[e] != column[e]) ++out.start[row[e] + 1], ++out.start[column[e] + 1];
  for (std::int32_t i = 0; i < nodes; ++i) out.start[i + 1] += out.start[i];
  out.node.resize(out.start[nodes]);
  std::vector<std::int32_t> next(out.start.begin(), out.start.end() - 1);
  for (std::int64_t e = 0; e < entries; ++e)
    if (row[e] != column[e]) {
      out.node[next[row[e]]++] = column[e];
      out.node[next[column[e]]++] = row[e];
    }
  return out;
}

// The graph of some nodes; `place` (n,) is -1 everywhere, before and after.
inline Adjacency induced(const Adjacency& graph, const std::int32_t* nodes, std::int32_t count,
                         std::vector<std::int32_t>& place) {
  Adjacency out{{0}, {}};
  for (std::int32_t k = 0; k < count; ++k) place[nodes[k]] = k;
  for (std::int32_t k = 0; k < count; ++k) {
    for (const std::int32_t* j = graph.begin(nodes[k]); j < graph.end(nodes[k]); ++j)
      if (place[*j] >= 0) out.node.push_back(place[*j]);
    out.start.push_back(std::int32_t(out.node.size()));
  }
  for (std::int32_t k = 0; k < count; ++k) place[nodes[k]] = -1;
  return out;
}

}  // namespace elasticgnn
