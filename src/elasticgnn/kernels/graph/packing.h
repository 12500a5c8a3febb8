// The tables of the packed loops (emp/packed/problem.h): the nodes in the order of the loops, the
// registers of each, and the slots in them. tests/plain_packing.py states the same in numpy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace elasticgnn {

// Slots start[i] .. start[i + 1] - 1 of node i lead to `column`; `order` is where the nodes begin.
struct PackingInput {
  std::int64_t num_nodes, rows;  // slots of a register
  const std::int64_t* start;
  const std::int32_t *column, *edge;
  const std::int64_t* order;
};

struct PackingLimits {
  std::int64_t windows;  // runs of nodes of equal work, within which nodes may change places
  std::int64_t chunk;    // registers
};

struct PackedOrder {
  std::int32_t *order, *share;        // (n): the nodes, and how many share a register with each
  std::int32_t *group, *part;         // (n + 1), (n): a node's first register, and its part of it
  std::int32_t *chunk, *chunk_share;  // (n + 1), of which as many are filled as there are chunks
};

struct PackingCounts {
  std::int64_t registers, chunks;
};

inline std::int64_t ceil_divide(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

// One node before the order is settled.
struct PackingNode {
  std::int64_t node, degree, window, registers;
  std::int64_t share = 1;
  std::uint64_t rank = 0;
};

inline std::vector<PackingNode> nodes_in_windows(const PackingInput& in, std::int64_t windows) {
  std::vector<PackingNode> nodes(in.num_nodes);
  const auto work = [&in](const PackingNode& node) {
    return node.degree > in.rows / 2 ? node.registers * in.rows : node.degree;
  };
  std::int64_t total = 0, before = 0;
  for (std::int64_t k = 0; k < in.num_nodes; ++k) {
    const std::int64_t i = in.order[k], degree = in.start[i + 1] - in.start[i];
    nodes[k] = {i, degree, 0, ceil_divide(degree, in.rows)};
    total += work(nodes[k]);
  }
  for (PackingNode& node : nodes) {
    node.window = before * windows / std::max<std::int64_t>(1, total);
    before += work(node);
  }
  return nodes;
}

// Nodes of `degree` slots share registers, as many as fill whole ones within their window.
inline void share_registers(std::vector<PackingNode>& nodes, std::int64_t degree,
                            std::int64_t mates) {
  if (mates < 2) return;
  std::vector<PackingNode*> waiting;  // for a register to be full
  for (PackingNode& node : nodes) {
    if (node.degree != degree) continue;
    if (!waiting.empty() && waiting.back()->window != node.window) waiting.clear();
    waiting.push_back(&node);
    if (std::int64_t(waiting.size()) < mates) continue;
    for (PackingNode* full : waiting) full->share = mates;
    waiting.clear();
  }
}

inline int bit_length(std::uint64_t number) {
  int bits = 0;
  for (; number; number >>= 1) ++bits;
  return bits;
}

// Ranks within a window: first those that share, then by registers, so that the loops' ends can be
// predicted. Of equal ones those that other threads read lie together, on few lines of the caches:
// by the highest bit in which the window of a neighbour differs, which tells the halves they share.
inline void rank_nodes(const PackingInput& in, std::vector<PackingNode>& nodes) {
  std::vector<std::int64_t> home(in.num_nodes);
  for (const PackingNode& node : nodes) home[node.node] = node.window;
  for (PackingNode& node : nodes) {
    std::uint64_t apart = 0;
    for (std::int64_t p = in.start[node.node]; p < in.start[node.node + 1]; ++p)
      apart |= std::uint64_t(node.window ^ home[in.column[p]]);
    node.rank = std::uint64_t(in.rows - node.share) << 60 | std::uint64_t(node.registers) << 8 |
                std::uint64_t(64 - bit_length(apart));
  }
}

inline PackingCounts fill_order(const std::vector<PackingNode>& nodes, std::int64_t chunk_size,
                                const PackedOrder& out) {
  const std::int64_t n = std::int64_t(nodes.size());
  std::int64_t registers = 0, part = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const PackingNode& node = nodes[k];
    part = k > 0 && node.share == nodes[k - 1].share ? (part + 1) % node.share : 0;
    out.order[k] = std::int32_t(node.node), out.share[k] = std::int32_t(node.share);
    out.part[k] = std::int32_t(part);
    out.group[k] = std::int32_t(registers - (part > 0));
    registers += node.share > 1 ? part == 0 : node.registers;
  }
  out.group[n] = std::int32_t(registers);
  const auto chunk_of = [&](std::int64_t k) {
    return std::min<std::int64_t>(out.group[k], registers - 1) / chunk_size;
  };
  std::int64_t chunks = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const bool begins = k == 0 || out.share[k] != out.share[k - 1] || chunk_of(k) > chunk_of(k - 1);
    if (!begins) continue;
    out.chunk[chunks] = std::int32_t(k), out.chunk_share[chunks] = out.share[k];
    ++chunks;
  }
  out.chunk[chunks] = std::int32_t(n);
  return {registers, chunks};
}

inline PackingCounts order_packed(const PackingInput& in, const PackingLimits& limits,
                                  const PackedOrder& out) {
  std::vector<PackingNode> nodes = nodes_in_windows(in, limits.windows);
  share_registers(nodes, 1, in.rows);
  share_registers(nodes, 2, in.rows / 2);
  rank_nodes(in, nodes);
  std::stable_sort(nodes.begin(), nodes.end(), [](const PackingNode& a, const PackingNode& b) {
    return a.window != b.window ? a.window < b.window : a.rank < b.rank;
  });
  return fill_order(nodes, limits.chunk, out);
}

struct PackedSlots {
  std::int32_t *column, *owner, *edge;  // (registers * rows), (registers), (registers * rows)
};

// Where the rows begin, `floats` numbers apart; places without a slot hold the node itself.
inline void fill_packed(const PackingInput& in, const PackedOrder& order, std::int64_t floats,
                        const PackedSlots& out) {
  std::vector<std::int32_t> place(in.num_nodes);
  for (std::int64_t k = 0; k < in.num_nodes; ++k) place[order.order[k]] = std::int32_t(k * floats);
  for (std::int64_t k = 0; k < in.num_nodes; ++k) {
    const std::int64_t i = order.order[k], share = order.share[k];
    const std::int64_t end = share > 1 ? order.group[k] + 1 : order.group[k + 1];
    if (order.part[k] == 0)
      for (std::int64_t g = order.group[k]; g < end; ++g) out.owner[g] = std::int32_t(k * floats);
    const std::int64_t size = in.rows / share;  // slots of its part
    std::int64_t at = order.group[k] * in.rows + order.part[k] * size;
    const std::int64_t behind = share > 1 ? at + size : end * in.rows;
    for (std::int64_t p = in.start[i]; p < in.start[i + 1]; ++p, ++at)
      out.column[at] = place[in.column[p]], out.edge[at] = in.edge[p];
    for (; at < behind; ++at) out.column[at] = std::int32_t(k * floats), out.edge[at] = -1;
  }
}

}  // namespace elasticgnn
