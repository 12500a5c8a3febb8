// Elastic message passing for wide rows: what the loops take (wide/forward, wide/backward).
//
// The dual is read and written once in a step, and each of its rows is added to the sums of both
// ends where they lie. Threads must not add to one node at a time: the nodes are cut into blocks,
// and a tile has the edges between two of them. There are `blocks` rounds: in each but the last
// blocks / 2 tiles that share no block, as in a tournament, in the last each block with itself. The
// graph alone decides the blocks, so every sum has one order for any number of threads.
// graph/tiling.py makes these tables, once per graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emp/problem.h"

namespace elasticgnn {

constexpr std::int64_t kChunkEdges = 4096;  // whose active rows are saved together

struct WideTiles {
  std::int64_t blocks;             // even, or 1
  const std::int64_t* first_node;  // (blocks + 1): of each block
  const std::int64_t* first_edge;  // (tiles + 1): of each tile
  const std::int32_t *tail, *head,
      *order;  // (m): edge e here is the graph's edge order[e]; equal tails are adjacent

  std::int64_t tiles_of_round() const { return blocks / 2; }
  std::int64_t num_tiles() const { return blocks * (blocks + 1) / 2; }
};

// What the gradient of x needs of every projection onto a ball: the active rows, which it moved,
// and their factors.
template <class T>
struct ActiveRows {
  const T** rows;      // (steps, chunks): where a chunk's rows begin; behind each row its factor
  std::uint8_t* mask;  // (steps, m): 1 for the active ones, in the order of the tiles
  // Memory for `count` numbers, or null if there is none; called by any thread.
  T* (*more)(void* context, std::size_t count);
  void* context;
};

template <class T>
struct WideForward {
  WideTiles tiles;
  T* out;                       // (n, width)
  const ActiveRows<T>* active;  // or null; then the norm is l21
};

template <class T>
struct WideBackward {
  WideTiles tiles;
  const T* grad;  // (n, width): gradient of F at the end
  T* grad_x;      // (n, width)
  const ActiveRows<T>* active;
};

}  // namespace elasticgnn
