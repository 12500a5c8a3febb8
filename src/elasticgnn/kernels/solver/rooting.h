// A forest with its roots: an order in which parents come before their children.
#pragma once

#include <cstdint>
#include <vector>

#include "solver/problem.h"

namespace elasticgnn {

// order <- nodes with parents before children; up <- place of the parent in that order, -1 at a
// root; edge <- the edge between them. Edges of radius 0 do not exist. False if there is a cycle.
inline bool root_forest(const Mesh& mesh, const double* radius, std::int32_t* order,
                        std::int32_t* up, std::int32_t* edge) {
  std::vector<std::int32_t> place(mesh.nodes, -1);
  std::int32_t count = 0;
  const auto is_end = [&](std::int32_t i) {
    return mesh.leave[i + 1] - mesh.leave[i] + mesh.enter[i + 1] - mesh.enter[i] <= 1;
  };
  // leaves first: a chain that is rooted at an end has one child per node
  for (std::int64_t candidate = 0; candidate < 2 * std::int64_t(mesh.nodes); ++candidate) {
    const std::int32_t first = std::int32_t(candidate % mesh.nodes);
    if (place[first] >= 0 || (candidate < mesh.nodes && !is_end(first))) continue;
    place[first] = count, order[count] = first, up[count] = -1, edge[count++] = -1;
    for (std::int32_t at = place[first]; at < count; ++at) {
      const std::int32_t node = order[at], from = edge[at];
      const auto visit = [&](std::int32_t e, std::int32_t other) {
        if (e == from || !(radius[e] > 0)) return true;
        if (place[other] >= 0) return false;
        place[other] = count, order[count] = other, up[count] = at, edge[count++] = e;
        return true;
      };
      for (std::int32_t e = mesh.leave[node]; e < mesh.leave[node + 1]; ++e)
        if (!visit(e, mesh.head[e])) return false;
      for (std::int32_t q = mesh.enter[node]; q < mesh.enter[node + 1]; ++q)
        if (!visit(mesh.entering[q], mesh.tail[mesh.entering[q]])) return false;
    }
  }
  return true;
}

}  // namespace elasticgnn
