// What one process of several knows of a graph, and the step sizes: plain data, shared by all
// instruction sets.
#pragma once

#include <cstdint>

#include "emp/problem.h"

namespace elasticgnn {

// Rows of nodes are ordered interior | boundary | halo: boundary nodes have neighbours in the halo,
// halo nodes belong to other processes. Slot p in [start[i], start[i+1]) leads from owned node i to
// column[p] along edge[p], neighbours in ascending global id. Node i leads the edges lead[i] ..
// lead[i+1] - 1, to other[e] > i; their dual rows point away from i.
template <class T>
struct HaloGraph {
  const std::int64_t* start;
  const std::int32_t* column;
  const std::int32_t* edge;
  const std::int64_t* lead;
  const std::int32_t* other;
  const T* weight;      // per edge; nullptr: all 1
  const T* scale;       // s, per row
  const T* own_factor;  // ((1 - gamma) - smoothing s^2 W) / s per owned row, W the sum of the
                        // node's weights
};

// The last four are those of a fading projection (emp/problem.h), start = 1 and else 0 for the
// others.
template <class T>
struct HaloSizes {
  T gamma, beta, smoothing, lambda1, start, slope, start_beta, slope_beta;
  Shape shape;
};

// One pass over the owned rows begin .. end - 1 of padded width `width` (a multiple of four), on
// `threads` threads.
struct HaloPass {
  std::int64_t begin, end, width;
  int threads;
};

template <class T>
struct HaloForward {
  const T *x, *q;        // x, and the weighted sum of each node's dual rows; nullptr: no such term
  T *u, *predicted, *y;  // s F, s Fb (with halo rows), Y
  const T* dual_in;
  T* dual_out;
  T *q_out, *f_out;  // f_out: the signal itself, written in the last step only
};

template <class T>
struct HaloAdjoint {
  const T *dual_in, *predicted;  // of the step whose adjoint is taken
  T *dual_grad, *g, *b, *h;      // gradient of the dual; s gF, s gFb and their sum (with halo rows)
  T* total;                      // sum of h over the steps
  double *edge_lambda, *edge_beta;  // per edge: gradients of lambda1 and beta, added up; or nullptr
};

// For the gradients of edge weights and step sizes, after the adjoint step: added up over the
// steps.
template <class T>
struct HaloStrengths {
  const T *dual_in, *dual_out, *predicted, *u, *x;  // of the step
  const T *g, *b, *h;
  double *edge_flow,
      *edge_smoothing;  // per edge: <Z', G_i - G_j> + <Z, B_i - B_j> and <U_i - U_j, H_i - H_j>
  double *node_scale, *node_gamma;  // per owned node: gradient of s_i, and <X_i - F_i, gY_i>
};

}  // namespace elasticgnn
