// What the blocks of edges share out: sums of their own, and walks of a team over them.
#pragma once

#include "emp/wide/rows.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// Two rows of every node side by side, the first for the edges to read, the second for their sums:
// one table for each block, with the nodes from its first tail to its last head. The table of the
// block whose tails a node is among is its home.
template <class Row, class T>
struct PairTables {
  const WideBlocks& blocks;
  const Row row;
  T* table[kMostBlocks];  // row i belongs to node i

  PairTables(const WideBlocks& blocks_, const Row& row_, Arena& arena)
      : blocks(blocks_), row(row_) {
    std::int64_t rows = 0;
    for (std::int64_t b = 0; b < blocks.count; ++b)
      rows += blocks.end_node[b] - blocks.first_node[b];
    T* next = arena.take<T>(2 * rows * row.stride());
    if (next == nullptr) return;
    for (std::int64_t b = 0; b < blocks.count; ++b) {
      table[b] = next - 2 * blocks.first_node[b] * row.stride();
      next += 2 * (blocks.end_node[b] - blocks.first_node[b]) * row.stride();
    }
  }
  ELASTICGNN_INLINE T* read(std::int64_t i, int block) const {
    return table[block] + 2 * i * row.stride();
  }
  ELASTICGNN_INLINE T* sum(std::int64_t i, int block) const {
    return table[block] + (2 * i + 1) * row.stride();
  }
  ELASTICGNN_INLINE int home(std::int64_t i) const {
    int block = 0;
    while (block + 1 < blocks.count && i >= blocks.first_node[block + 1]) ++block;
    return block;
  }
  // other(block) of the tables that have node i beside its home
  template <class Other>
  ELASTICGNN_INLINE void for_others(std::int64_t i, const Other& other) const {
    for (int b = 0; b + 1 < blocks.count && i >= blocks.first_node[b + 1]; ++b)
      if (i < blocks.end_node[b]) other(b);
  }
  void clear_sums(std::int64_t i) const {
    const auto clear = [&](int b) {
      for (int v = 0; v < row.count(); ++v) row.store(sum(i, b), v, typename Row::Vec{});
    };
    clear(home(i)), for_others(i, clear);
  }
  // The sum over all tables goes to the home.
  ELASTICGNN_INLINE void add_sums(std::int64_t i) const {
    T* const to = sum(i, home(i));
    for_others(i, [&](int b) ELASTICGNN_INLINE_LAMBDA {
      T* const from = sum(i, b);
      for (int v = 0; v < row.count(); ++v) {
        row.store(to, v, row.load(to, v) + row.load(from, v));
        row.store(from, v, typename Row::Vec{});
      }
    });
  }
  // The row of the home goes to all others.
  ELASTICGNN_INLINE void copy_read(std::int64_t i) const {
    const T* const from = read(i, home(i));
    for_others(i, [&](int b) ELASTICGNN_INLINE_LAMBDA {
      for (int v = 0; v < row.count(); ++v) row.store(read(i, b), v, row.load(from, v));
    });
  }
};

// Which chunks a block has, and walks of a team over all of them.
struct BlockWalk {
  const WideBlocks& blocks;

  std::int64_t first_chunk(std::int64_t block) const {
    std::int64_t chunk = 0;
    for (std::int64_t b = 0; b < block; ++b)
      chunk += (blocks.first_edge[b + 1] - blocks.first_edge[b] + kChunkEdges - 1) / kChunkEdges;
    return chunk;
  }
  std::int64_t num_chunks() const { return first_chunk(blocks.count); }

  // edges(block, chunk, first, last) of every chunk and nodes(low, high) of all
  // nodes once their edges are done, by all threads of a team. All edges of a node have tails up to
  // it: one thread, which walks the blocks in order, is done with a node behind its own edges.
  template <class EdgesOf, class NodesOf>
  void visit(const Blocks& shares, const EdgesOf& edges, const NodesOf& nodes) const {
    const bool alone = omp_get_num_threads() == 1;
#pragma omp for schedule(monotonic : dynamic, 1)
    for (std::int64_t b = 0; b < blocks.count; ++b) {
      std::int64_t chunk = first_chunk(b), done = blocks.first_node[b];
      const std::int64_t end = blocks.first_edge[b + 1];
      for (std::int64_t e = blocks.first_edge[b]; e < end; ++chunk) {
        const std::int64_t first = e;
        e = first + kChunkEdges < end ? first + kChunkEdges : end;
        edges(int(b), chunk, first, e);
        if (alone && e < end) nodes(done, std::int64_t(blocks.tail[e])), done = blocks.tail[e];
      }
      if (alone) nodes(done, blocks.first_node[b + 1]);
    }
    if (alone) return;
    for_blocks(shares, [&](int, std::int64_t low, std::int64_t high) { nodes(low, high); });
#pragma omp barrier
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
