// Total variation on a forest, for the exact method (forest.h).
//
//     min over U of  1/2 sum_i h_i (U_i - b_i)^2 + sum_e radius_e |U_i - U_parent(i)|
//
// Nodes are numbered so that a parent comes before its children; parent[i] = -1 at a root. h_i = 0
// is a missing value.
#pragma once

#include <cstdint>

namespace elasticgnn {

struct ForestProblem {
  std::int32_t nodes;
  const std::int32_t* parent;
  const double* radius;  // of the edge to the parent
  const double* stiff;   // h
  const double* center;  // b
};

// A line slope * x + offset, the derivative left or right of all breakpoints.
struct Line {
  double slope, offset;
  double at(double x) const { return slope * x + offset; }
};

}  // namespace elasticgnn
