// Elastic message passing for short rows: what the packed loops take (emp_packed_forward,
// emp_packed_backward).
//
// Rows are padded to P = 4, 5, 8 or 16 floats, and G = 16 / P of them share a register. The dual
// lies on both directions of every edge, in the order in which a node meets them: it streams,
// nothing is scattered, and both ends do the same arithmetic. Each node's slots are filled up to
// whole registers with the node itself: the difference is 0 there. Nodes with few slots share a
// register: the next G nodes, or two, have G or G / 2 parts of it. graph/packing.py makes these
// tables, once per graph.
//
// For the gradient of x the adjoint needs the Jacobian of each projection: the identity for rows
// inside the ball, else r (I - u u') with u = Z / lambda1 and r = lambda1 / |Z before|. So what is
// active of a step is a bit for every row, and Z and r of the active rows. Of a projection onto a
// box (the l1 norm) it is a bit for every number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/tuning.h"
#include "threads/interrupt.h"

namespace elasticgnn {

constexpr int kMostThreads = 64;

struct PackedGraph {
  std::int64_t num_nodes, num_groups, num_chunks;
  const std::int32_t* chunk;  // (chunks + 1): first node; a chunk's registers fit the nearest cache
  const std::int32_t* share;  // (chunks): how many nodes share a register
  const std::int32_t* group;  // (n + 1): first register of each node
  const std::int32_t* column;  // (groups, G): where the other end's row begins, in floats
  const std::int32_t* owner;   // (groups): the same of the node, or of the first that shares
  const std::int32_t* edge;    // (groups, G), -1: a slot that fills up
  const std::int32_t* order;   // (n): the loops' node i is the caller's node order[i]
  const float* weight;         // (m), or null: all are 1
  const float* scale;          // (n), the caller's order
};

struct PackedProblem {
  PackedGraph graph;
  std::int64_t width, stride;  // floats of a row, and from one row of the caller's to the next
  float lambda1, gamma, beta, smoothing;
  int steps, threads;
  bool box;  // the l1 norm, else l21
  Interrupt* interrupt;

  bool has_dual() const { return lambda1 > 0 && gamma > 0; }  // else Z has no effect

  // Threads that pay. A step has three barriers, and each costs as much as a few thousand
  // registers.
  int team() const {
    const std::int64_t worth = tuning.registers_per_thread;
    const std::int64_t useful = graph.num_groups / worth < 1 ? 1 : graph.num_groups / worth;
    const int most = threads < kMostThreads ? threads : kMostThreads;
    return useful < most ? int(useful) : most;
  }
};

// Active rows, step by step and chunk by chunk.
struct PackedActiveRows {
  const float**
      rows;  // (steps, chunks): where the chunk's rows begin, with r width + 1 floats each
  std::uint16_t* masks;  // (steps, quads), or (steps, quads, 4) if box
  // More memory for rows, or null if there is none; called by any thread.
  float* (*more)(void* context, std::size_t floats);
  void* context;
};

struct PackedForward {
  const float* x;
  float* out;
  const PackedActiveRows* active;  // null: no gradient will be asked for
};

struct PackedBackward {
  const float* grad;
  float* grad_x;
  const PackedActiveRows* active;
};

// Four registers are handled together; a chunk's quads begin at quad_of(graph, chunk).
inline std::int64_t quad_of(const PackedGraph& graph, std::int64_t chunk) {
  return graph.group[graph.chunk[chunk]] / 4 + chunk;
}

// Masks of a quad.
inline std::int64_t masks_each(const PackedProblem& problem) { return problem.box ? 4 : 1; }

}  // namespace elasticgnn
