// Attention of graph nodes to their neighbours: what the loops behind nn/attention.py read and
// write.
//
// Heads are handled in groups of G = 8 (of 1 where there is one head). A packed row holds a group's
// channels side by side, channel c of head k at c * G + k, zeros behind them up to whole lanes: a
// weight per head then multiplies whole vectors, and products per head are sums of whole vectors.
#pragma once

#include "features/problem.h"

namespace elasticgnn {

struct AttentionShape {
  std::int64_t heads, channels;
};

static inline std::int64_t group_size(const AttentionShape& s) { return s.heads == 1 ? 1 : 8; }

static inline std::int64_t group_count(const AttentionShape& s) {
  return (s.heads + group_size(s) - 1) / group_size(s);
}

static inline std::int64_t packed_width(const AttentionShape& s) {
  return (s.channels * group_size(s) + 15) / 16 * 16;
}

// "Above" is the part of a sum over those neighbours whose score is positive, where the leaky ReLU
// has slope 1. Without a gradient to come, all results but `out` and `packed_rows` are null.
struct AttentionForward {
  SparseRows graph;  // a node's neighbours, itself among them; no values
  AttentionShape shape;
  const float *rows, *target, *source;  // (n, heads * channels), (n, heads), (n, heads)
  const float* factor;                  // (slots, heads) after the softmax; null: ones
  float* out;                           // (n, heads * channels)
  float *most, *inverse, *above;        // (n, heads): largest score, 1 / denominator, weight above
  float *packed_rows, *packed_out, *packed_above;  // (groups, n, width)
  float* scratch;                                  // (n, group)
  int threads;
};

struct AttentionBackward {
  SparseRows graph;
  AttentionShape shape;
  const float *grad, *target, *source;
  const float* factor;  // of the transposed slot: with which the neighbour attends to the node
  const float *most, *inverse, *above;
  const float *packed_rows, *packed_out, *packed_above;
  float *grad_rows, *grad_target, *grad_source;
  float* scratch;  // (n, width + 4 * group)
  int threads;
};

}  // namespace elasticgnn
