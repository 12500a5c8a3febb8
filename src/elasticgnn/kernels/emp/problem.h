// What the elastic message passing kernels take; reference.py states the same steps in plain torch.
//
// State in terms of U = s F (s: scale, w: edge weight, Q_i = sum over i's edges of +-w Z):
//   A   Ub_i = gamma s X_i + (1 - gamma) U_i + smoothing s^2 sum_j w (U_j - U_i) - gamma s^2 Q_i
//   B1  Z_e  = project(Z_e + beta (Ub_tail - Ub_head))
//   B2  U_i  = Ub_i - gamma s^2 (new Q_i - old Q_i)
// The dual is stored once per undirected edge, in the order of the edges (tail < head, sorted by
// tail). Node i's slots are sorted by column: first the edges that end at i, then those that start
// at i, whose edge numbers are consecutive.
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads/interrupt.h"

namespace elasticgnn {

constexpr int kMaxBlocks = 64;  // of nodes, among which the threads share the work

// Of the dual's projection: rows onto a ball, entries onto a box, or rows outside the ball of
// lambda1 to the length min(lambda1, max(0, start lambda1 - slope r)), r their length. Numbered as
// problem/penalties/registry.py lists them.
enum class Shape : int { ball = 0, box = 1, fading = 2 };

// Of what a gradient will be asked for. Numbered as operator/request.py lists them.
enum class WantedGradients : int { none = 0, x = 1, all = 2 };

template <class T>
struct EmpProblem {
  std::int64_t num_nodes, num_edges;
  std::int64_t runs, width;    // rows are (width, runs) when runs > 1: the runs are the lanes
  const std::int64_t* start;   // (n + 1)
  const std::int32_t* column;  // (2m)
  const std::int32_t* edge;    // (2m)
  const T* weight;             // (m)
  const T* scale;              // (n)
  const T *lambda1, *gamma, *beta, *smoothing;  // (runs)
  Shape shape;
  const T *fade_start, *fade_slope;            // (runs) of a fading projection, else null
  const T *fade_start_beta, *fade_slope_beta;  // (runs) their derivatives by beta
  int steps, threads;
  const T* x;  // (n, row)
  Interrupt* interrupt;
};

// The weight of the edge that each slot leads along (2m), and the sum over each node's slots (n).
namespace {  // compiled for several instruction sets, none of which may stand in for another

template <class T>
void fill_slot_weights(std::int64_t num_nodes, const std::int64_t* start, const std::int32_t* edge,
                       const T* weight, T* slot_weight, T* total_weight) {
  for (std::int64_t i = 0; i < num_nodes; ++i) {
    T sum = 0;
    for (std::int64_t p = start[i]; p < start[i + 1]; ++p) sum += slot_weight[p] = weight[edge[p]];
    total_weight[i] = sum;
  }
}

}  // namespace

// Where the states of the steps lie; a stride of 0 means that one buffer is overwritten.
template <class T>
struct EmpForward {
  const T* first_signal;      // F at the start, or null: X
  const T* first_dual;        // Z at the start, or null: 0
  T* out;                     // (n, row): F at the end
  T* last_dual;               // (m, row) or null: Z at the end
  bool use_dual;              // false: lambda1 = 0 or gamma = 0, Z stays 0
  WantedGradients gradients;  // what the adjoint will be asked for
  int every;                  // dual checkpoints at steps every, 2 every, ... (unless none)
  bool all_nodes;  // save Ub (and U, Q for all gradients) of every step, else U at the checkpoints
  T* nodes;        // saved node rows
  T* duals;        // saved dual rows
};

constexpr int kPopulationWidth = 8;  // the widest row

// Many runs: x and out are (n, runs, width) in the caller's order, the tables in another.
struct EmpPopulation {
  float* out;
  const std::int64_t* order;  // (n): the tables' node i is the caller's node order[i]
  bool use_dual;              // false: Z stays 0 in every run
};

template <class T>
struct EmpBackward {
  const T* grad;  // (n, row): gradient of F at the end
  const T* out;   // (n, row): F at the end (gradient of scale only)
  bool use_dual, all_nodes;
  bool is_saved;  // whether nodes and duals were filled by the forward pass
  int every;
  const T *nodes, *duals;
  T* grad_x;       // (n, row)
  T* grad_weight;  // (m) or null
  T* grad_scale;   // (n) or null
  T* grad_sizes;   // (4, runs) lambda1, gamma, beta, smoothing, or null
};

}  // namespace elasticgnn
