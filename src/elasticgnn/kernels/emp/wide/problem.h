// Elastic message passing for wide rows: what the loops take (wide/forward, wide/backward).
//
// The dual is read and written once in a step, and each of its rows is added to the sums of both
// ends where they lie. Threads must not add to one node at a time: the nodes are cut into blocks,
// the edges into tiles by the blocks of their two ends, and the tiles into rounds, in each of which
// no two tiles share a block. The graph alone decides them, so every sum has one order for any
// number of threads. graph/edge_tiles.py makes these tables, once per graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emp/problem.h"

namespace elasticgnn {

constexpr std::int64_t kChunkEdges = 2048;  // whose active rows are saved together

// The edges in the order of their tiles; in a tile they are sorted by tail. The tails of the whole
// last round ascend, and it has all edges within a block.
struct WideTiles {
  std::int64_t num_rounds;
  const std::int64_t* first_tile;   // (rounds + 1)
  const std::int64_t* first_edge;   // (tiles + 1)
  const std::int32_t *tail, *head;  // (m)
};

// Of a graph, made once (operator/wide.py); all null: every weight is 1.
template <class T>
struct WideWeights {
  const T* slot;   // (2m), in the order of the slots
  const T* total;  // (n): their sum over the slots of each node
  const T* edge;   // (m), in the order of the tiles
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
  WideWeights<T> weights;
  T* out;                       // (n, width)
  const ActiveRows<T>* active;  // or null; then the norm is l21
};

template <class T>
struct WideBackward {
  WideTiles tiles;
  WideWeights<T> weights;
  const T* grad;  // (n, width): gradient of F at the end
  T* grad_x;      // (n, width)
  const ActiveRows<T>* active;
};

}  // namespace elasticgnn
