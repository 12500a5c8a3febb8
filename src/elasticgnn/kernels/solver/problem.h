// What the solver's loops read and write: bare addresses, no code (see README.md on headers).
//
// Everything speaks of the scaled signal U = s F of a problem
//     1/2 sum_i h_i |U_i - b_i|^2 + sum_e w_e (lambda1 |U_i - U_j| + lambda2/2 |U_i - U_j|^2)
// and of the flow V = w W of its folded dual. Edges are sorted by tail: those that leave node i are
// leave[i] to leave[i+1]; those that enter it are entering[enter[i]] to entering[enter[i+1]].
#pragma once

#include <cstdint>

#include "threads/interrupt.h"

namespace elasticgnn {

struct Mesh {
  std::int64_t nodes, edges;
  const std::int32_t* leave;
  const std::int32_t* enter;
  const std::int32_t* entering;
  const std::int32_t* tail;
  const std::int32_t* head;
};

// The accelerated ascent's state; step, radius and mix are per edge (stride 1) or shared (stride
// 0).
template <class T>
struct Ascent {
  Mesh mesh;
  int channels, stride, threads;
  bool entrywise;
  const T* base;    // b (n, d)
  const T* gain;    // 1/h (n,)
  const T* step;    // of the flow
  const T* radius;  // lambda1 w
  const T* mix;     // lambda2 / (beta + lambda2): share of the excess that the prox keeps
  T* signal;        // U (n, d), scratch
  T* flow;          // V (m, d)
  T* ahead;         // V with momentum (m, d)
  double* partial;  // one per 4096 edges, scratch
};

// Ascents for several lambda1 side by side: the lane of one is the innermost index, so rows are
// read and written as whole vectors. step, weight and mix are per edge (stride 1) or shared (stride
// 0).
constexpr int ASCENTS = 8;

struct Ascents {
  Mesh mesh;
  int channels, stride;
  bool entrywise;
  const float* base;     // b (n, d)
  const float* gain;     // 1/h (n,)
  const float* step;     // of the flow
  const float* weight;   // w
  const float* mix;      // lambda2 / (beta + lambda2): share of the excess that the prox keeps
  const float* lambda1;  // (ASCENTS,)
  float* signal;         // U (n, d, ASCENTS), scratch
  float* flow;           // V (m, d, ASCENTS)
  float* ahead;          // V with momentum (m, d, ASCENTS)
  std::int32_t* age;     // (ASCENTS,) steps since the last restart
  double* partial;       // ASCENTS per 4096 nodes, scratch
  float* sum;            // (d, ASCENTS) per thread, scratch aligned to 64 bytes
  int most_threads;      // that there is scratch for
};

// A pair whose gap is wanted.
struct Pair {
  Mesh mesh;
  int channels, threads;
  bool entrywise;
  bool unscaled;  // s = 1: U and b are the user's numbers, and their differences round as such
  double lambda1, lambda2;
  const double* center;  // b (n, d)
  const double* stiff;   // h (n,), 0 where the value is missing
  const double* weight;  // w (m,)
  const double* signal;  // U (n, d)
  const double* flow;    // V (m, d)
  double* divergence;    // sum of +-V per node (n, d)
  double* traffic;       // sum of |V| per node (n, d)
  double* partial;       // 4 per 4096 rows, scratch
};

// Sums of non-negative terms; `rounding` bounds the error of `gap` in units of machine epsilon.
struct GapTerms {
  double objective, gap, rounding, square;
};

}  // namespace elasticgnn
