// Elastic message passing for wide rows: what the loops take (wide/forward, wide/backward).
//
// The dual is read and written once in a step, and each of its rows is added to the sums of both
// ends where they lie. Threads must not add to one node at a time: the edges are cut into blocks by
// their tails, and each block has sums of its own for the nodes from its first tail to its last
// head, which are added when all blocks are done. The graph alone decides the blocks, so every sum
// has one order for any number of threads. graph/edge_blocks.py makes these tables, once per graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emp/problem.h"

namespace elasticgnn {

constexpr std::int64_t kChunkEdges = 2048;  // whose active rows are saved together
constexpr int kMostBlocks = 8;

struct WideBlocks {
  std::int64_t count;
  const std::int64_t *first_node, *first_edge;  // (count + 1): of each block's tails and edges
  const std::int64_t* end_node;                 // (count): behind each block's tails and heads
  const std::int32_t *tail, *head;              // (m)
};

// What the gradient of x needs of every projection onto a ball: the active rows, which it moved,
// and their factors.
template <class T>
struct ActiveRows {
  const T** rows;      // (steps, chunks): where a chunk's rows begin; behind each row its factor
  std::uint8_t* mask;  // (steps, m): 1 for the active ones
  // Memory for `count` numbers, or null if there is none; called by any thread.
  T* (*more)(void* context, std::size_t count);
  void* context;
};

template <class T>
struct WideForward {
  WideBlocks blocks;
  T* out;                       // (n, width)
  const ActiveRows<T>* active;  // or null; then the norm is l21
};

template <class T>
struct WideBackward {
  WideBlocks blocks;
  const T* grad;  // (n, width): gradient of F at the end
  T* grad_x;      // (n, width)
  const ActiveRows<T>* active;
};

}  // namespace elasticgnn
