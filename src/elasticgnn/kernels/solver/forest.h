// Total variation on a forest, exactly: dynamic programming from the leaves to the roots.
//
// Kolmogorov, Pock and Rolinek, "Total variation on a tree" (SIAM J. Imaging Sci. 2016). What the
// subtree of node i asks of its parent is a function of the parent's value x whose derivative is
// piecewise linear, never falls, and lies in [-radius, radius]: its message. A missing value is a
// line without slope.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "solver/chain_messages.h"
#include "solver/tree_messages.h"

namespace elasticgnn {

// +-radius at a jump, else what the subtree's data leave over: h (b - U) summed from the leaves.
inline void collect_flow(const ForestProblem& p, const double* signal, double* arriving,
                         double* flow) {
  std::fill(arriving, arriving + p.nodes, 0.0);
  for (std::int32_t i = p.nodes - 1; i >= 0; --i) {
    const std::int32_t to = p.parent[i];
    flow[i] = 0;
    if (to < 0) continue;
    const double radius = p.radius[i], jump = signal[i] - signal[to];
    const double rest = arriving[i] + p.stiff[i] * (p.center[i] - signal[i]);
    flow[i] = jump > 0 ? radius : jump < 0 ? -radius : std::min(std::max(rest, -radius), radius);
    arriving[to] += flow[i];
  }
}

// signal U and flow V of each node's edge to its parent (0 at roots), V > 0 where U_i > U_parent
inline void solve_forest(const ForestProblem& p, double* signal, double* flow) {
  std::vector<double> low(p.nodes), high(p.nodes);
  if (ChainMessages::serves(p)) ChainMessages(p).ranges(low.data(), high.data());
  else TreeMessages(p).ranges(low.data(), high.data());
  for (std::int32_t i = 0; i < p.nodes; ++i)
    signal[i] = p.parent[i] < 0 ? low[i] : std::min(std::max(signal[p.parent[i]], low[i]), high[i]);
  collect_flow(p, signal, low.data(), flow);
}

}  // namespace elasticgnn
