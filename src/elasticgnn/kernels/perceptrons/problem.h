// A batch of two-layer perceptrons, trained side by side on one sparse feature matrix; or of GCNs,
// which are perceptrons whose layers are each multiplied by one matrix of the graph.
#pragma once

#include <cstdint>

#include "features/problem.h"

namespace elasticgnn {

// A GCN's matrix A: its layers are A (x W) + bias.
struct Convolution {
  SparseRows matrix;  // (n, n), symmetric; of 0 rows for perceptrons
  float* mixed;       // (runs, n, hidden) rows before A, or their gradient
  float* linear;      // (n, runs, classes) logits before A, or their gradient

  bool present() const { return matrix.rows > 0; }
};

// The weights of a run lie in one block of `stride` floats: first layer (features, hidden), its
// bias (hidden), second layer (classes, hidden), its bias (classes, padded to 16).
// hidden is padded to a multiple of 16 by units whose weights are 0 and stay so.
struct Perceptrons {
  std::int64_t runs, features, hidden, classes, stride;
  std::int64_t real_hidden;        // without padding: positions of the hidden masks count these
  float* weights;                  // (runs, stride)
  const std::uint64_t* seed;       // (runs)
  const std::uint32_t* threshold;  // (runs) hashes below are dropped
  const float* scale;              // (runs) 1 / (1 - rate) of the run
  Convolution convolution;
  std::uint64_t epoch;  // names the masks, with the seed
  int threads;
};

struct PerceptronForward {
  SparseRows rows;    // of the features
  float* activation;  // (runs, n, hidden) kept for the gradient; null: no dropout
  float* logits;      // (n, runs, classes)
};

struct Adam {
  float* first;                // (runs, stride) running mean of the gradient
  float* second;               // (runs, stride) of its square
  const float* learning_rate;  // (runs)
  const float* weight_decay;   // (runs)
  std::int64_t step;           // counted from 1
};

struct Backward {
  SparseRows columns;  // the transposed features
  float* activation;   // (runs, n, hidden), overwritten by its gradient
  const float* grad;   // (n, runs, classes) of the logits
  std::int64_t nodes;
};

// Losses and accuracies of outputs (n, runs, classes) on each run's own nodes.
struct Scores {
  std::int64_t runs, classes;
  const float* output;
  const std::int64_t* label;  // (n)
  const std::int64_t* start;  // (runs + 1) slots of `node` that belong to each run
  const std::int64_t* node;
  float* grad;       // (n, runs, classes) of the mean loss, zero on entry; or null
  double* loss;      // (runs) mean; or null
  double* accuracy;  // (runs)
  int threads;
};

constexpr int INPUT_SITE = 0, HIDDEN_SITE = 1;
constexpr std::int64_t PERCEPTRON_ROWS = 256;  // rows or columns of one task

}  // namespace elasticgnn
