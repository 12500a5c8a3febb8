// The pattern of the node system C + K' G K, lower triangle, and which rows add to which entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "solver/interior.h"

namespace elasticgnn {

// Entries by column, then row, the diagonal first; those of K' G K at entry p are the terms
// start[p] to start[p+1], each factor times G of a row.
struct NodePattern {
  std::vector<std::int32_t> row, column, start, source;
  std::vector<double> factor;
};

struct PatternTerm {
  std::int32_t node, source;
  double factor;
};

inline NodePattern node_pattern(const Sparse& operators, const Sparse& adjoint) {
  NodePattern out;
  std::vector<PatternTerm> terms;
  for (std::int32_t i = 0; i < adjoint.rows; ++i) {
    terms.clear();
    for (std::int32_t p = adjoint.start[i]; p < adjoint.start[i + 1]; ++p) {
      const std::int32_t r = adjoint.column[p];
      for (std::int32_t q = operators.start[r]; q < operators.start[r + 1]; ++q) {
        const double factor = adjoint.value[p] * operators.value[q];
        if (operators.column[q] >= i && factor != 0)
          terms.push_back({operators.column[q], r, factor});
      }
    }
    std::sort(terms.begin(), terms.end(), [](const PatternTerm& a, const PatternTerm& b) {
      return a.node != b.node ? a.node < b.node : a.source < b.source;
    });
    std::int32_t node = -1;
    const auto open = [&](std::int32_t next) {
      node = next;
      out.row.push_back(node);
      out.column.push_back(i);
      out.start.push_back(std::int32_t(out.source.size()));
    };
    open(i);
    for (const PatternTerm& term : terms) {
      if (term.node != node) open(term.node);
      out.source.push_back(term.source);
      out.factor.push_back(term.factor);
    }
  }
  out.start.push_back(std::int32_t(out.source.size()));
  return out;
}

}  // namespace elasticgnn
