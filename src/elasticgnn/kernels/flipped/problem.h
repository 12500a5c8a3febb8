// One graph under many lists of flipped pairs, each list a graph of its own: predictions of all of
// them, no gradient.
#pragma once

#include <cstdint>

#include "emp/problem.h"
#include "threads/interrupt.h"

namespace elasticgnn {

constexpr int kFlippedRow = 8;  // floats that rows are filled up to a multiple of, with zeros

// The graph as it is: edges tail < head, sorted; weights are 1, nodes scaled by 1/sqrt(1 + degree).
struct FlippedGraphs {
  std::int64_t num_nodes, num_edges, graphs, most_flips;
  const std::int32_t *tail, *head;  // (m)
  const std::int64_t* first_edge;   // (n + 1): the first edge whose tail is >= i
  const std::int64_t* first_flip;   // (graphs + 1)
  const std::int32_t* flips;        // (first_flip[graphs], 2), tail < head, distinct within a graph
  int threads;
  Interrupt* interrupt;
};

// What is wanted of each graph; width of the classes. Null: not wanted.
struct FlippedResult {
  std::int64_t width;
  float* rows;          // (graphs, n, width)
  std::uint8_t* label;  // (graphs, n): the first of the largest
};

// Elastic steps on rows x (n, stride), stride a multiple of kFlippedRow.
struct FlippedElastic {
  const float* x;
  std::int64_t stride;
  float lambda1, gamma, beta, smoothing, start, slope;
  Shape shape;
  int steps;
};

// relu(A (x) + b1) then A (. W2) + b2 with A = D^-1/2 (A + I) D^-1/2: x (n, hidden), W2 (hidden,
// stride), b2 (stride).
struct FlippedConvolutions {
  const float *x, *bias1, *weight2, *bias2;
  std::int64_t hidden, stride;  // multiples of kFlippedRow
};

// RUNG on rows x (n, stride): F_i <- (sum_j W_ij A~_ij F_j + fidelity x_i) / (q_i + fidelity).
enum class Reweighting { mcp, l1, l2 };

struct FlippedReweighted {
  const float* x;
  std::int64_t stride;
  float fidelity, cut, smallest;  // mcp: W = max(0, 1 / 2z - cut), z^2 = square + smallest
  Reweighting norm;
  bool double_root;
  int steps;
};

// sum_k mix_k S^k x with S = D^-1/2 (A + I) D^-1/2, k = 0 .. steps.
struct FlippedPolynomial {
  const float *x, *mix;
  std::int64_t stride;
  int steps;
};

// mix(relu(mix(x)) W2 + b2): x (n, hidden) of hidden_width columns, W2 (hidden_width, stride).
enum class Mixing { mean, guard, median };

struct FlippedLayers {
  const float *x, *weight2, *bias2;
  std::int64_t hidden, hidden_width, stride;
  Mixing mixing;
  float parameter;  // guard: the least cosine; median: the temperature
};

}  // namespace elasticgnn
