// What the interior point method's loops read and write: bare addresses, no code.
//
// interior_point/cones.py has the formulas. Row r of K has the difference u, the flow v with
// |v| < radius, and tau > |u| at the barrier's minimum; its scaling of Nesterov and Todd is theta
// times the hyperbolic rotation of the unit vector (w0, w1).
#pragma once

#include <cstdint>

namespace elasticgnn {

constexpr int INTERIOR_CHANNELS = 8;  // the most that the loops are compiled for
constexpr int INTERIOR_BAND = 16;     // the widest band, diagonal not counted

// A matrix by rows: those of row i are start[i] to start[i+1].
struct Sparse {
  std::int64_t rows;
  const std::int32_t* start;
  const std::int32_t* column;
  const double* value;
};

struct Interior {
  int channels;             // d
  Sparse operators;         // K (r, n)
  Sparse adjoint;           // K' (n, r)
  const double* radius;     // (r,)
  const double* quadratic;  // lambda2 omega (r,)
  const double* weight;     // c (n, d), 0 where the value is missing
  const double* x;          // (n, d)
  double* signal;           // F (n, d)
  double* residual;         // of the optimality condition (n, d)
  double* change;           // dF (n, d): first the right side, then what the factor made of it
  double* flow;             // v (r, d)
  double* difference;       // u (r, d)
  double* tau;              // (r,)
  double* theta;            // (r,)
  double* w0;               // (r,)
  double* lam0;             // (r,)
  double* w1;               // (r, d)
  double* lam1;             // (r, d)
  double* blocks;           // G + lambda2 omega, lower triangle (r, d (d + 1) / 2)
  double* shift;            // G (W q)_1 (r, d): the flow changes by G du - shift
  double* first;            // (W q)_0 (r,)
  double* du;               // (r, d)
  double* dv;               // (r, d)
};

// Where C + K' G K goes. A band: number (row, column) of the unknowns at column * width + row of
// `room`, nodes numbered by `position` if there is one. Else entry p of the node pattern is the
// sum of sums(p, r) G_r, whose number (a, b) belongs at place[p d d + a d + b]; none if negative.
struct Assembly {
  int width;  // of a band, diagonal not counted; negative: a pattern
  const std::int32_t* position;
  Sparse sums;
  const std::int32_t* diagonal;  // the entry of each node's own block (n,)
  const std::int64_t* place;
  std::int64_t size;  // of room
  double* room;
};

// A point: objective, what rows and nodes leave of the gap, and the sum of |residual| where values
// are missing.
struct Optimality {
  double objective, rows, nodes, missing_residual;
};

}  // namespace elasticgnn
