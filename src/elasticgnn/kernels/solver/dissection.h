// An elimination order by nested dissection: a part is cut by a level of a breadth-first search,
// whose nodes come last. Parts that are small, or have no small cut, take minimum degree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "solver/adjacency.h"
#include "solver/minimum_degree.h"

namespace elasticgnn {

class Dissection {
 public:
  Dissection(const Adjacency& graph, double most)
      : graph(graph),
        fill(most),
        part(graph.size(), 0),
        level(graph.size(), -1),
        place(graph.size(), -1) {}

  // Nodes in the order of their elimination.
  std::vector<std::int32_t> order() {
    const std::int32_t peeled = peel();
    parts.emplace_back(peeled, graph.size());
    while (!parts.empty()) {
      const auto [from, to] = parts.back();
      parts.pop_back();
      if (to - from <= SMALL || !cut(from, to)) by_degree(from, to);
    }
    return std::move(nodes);
  }

 private:
  static constexpr std::int32_t SMALL = 300;   // nodes that are not cut any more
  static constexpr double LARGEST_CUT = 0.12;  // of a part's nodes
  static constexpr double LEAST_SHARE = 0.2;   // of the smaller side
  static constexpr std::int32_t PEELED = -2, CUT = -1;

  // Nodes with at most one neighbour left fill nothing: they come first. Returns their number.
  std::int32_t peel() {
    const std::int32_t count = graph.size();
    std::vector<std::int32_t> left(count);
    for (std::int32_t i = 0; i < count; ++i) {
      left[i] = graph.degree(i);
      if (left[i] <= 1) nodes.push_back(i), part[i] = PEELED;
    }
    for (std::size_t k = 0; k < nodes.size(); ++k)
      for (const std::int32_t* j = graph.begin(nodes[k]); j < graph.end(nodes[k]); ++j)
        if (--left[*j] <= 1 && part[*j] != PEELED) nodes.push_back(*j), part[*j] = PEELED;
    const auto peeled = std::int32_t(nodes.size());
    for (std::int32_t i = 0; i < count; ++i)
      if (part[i] != PEELED) nodes.push_back(i);
    return peeled;
  }

  void by_degree(std::int32_t from, std::int32_t to) {
    const Adjacency own = induced(graph, nodes.data() + from, to - from, place);
    const std::vector<std::int32_t> old(nodes.begin() + from, nodes.begin() + to);
    const std::vector<std::int32_t> found = MinimumDegree(own, fill).order();
    for (std::size_t k = 0; k < found.size(); ++k) nodes[from + k] = old[found[k]];
  }

  // The nodes that a search from `first` meets, level by level, with the first of each level.
  void search(std::int32_t first, std::int32_t label) {
    for (const std::int32_t i : queue) level[i] = -1;
    queue.assign(1, first), starts.assign(1, 0);
    level[first] = 0;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const std::int32_t i = queue[k];
      if (std::size_t(level[i]) == starts.size()) starts.push_back(std::int32_t(k));
      for (const std::int32_t* j = graph.begin(i); j < graph.end(i); ++j)
        if (part[*j] == label && level[*j] < 0) level[*j] = level[i] + 1, queue.push_back(*j);
    }
    starts.push_back(std::int32_t(queue.size()));
  }

  // Puts a part's two sides and then its cut in the place of the part; false: no good cut.
  bool cut(std::int32_t from, std::int32_t to) {
    const std::int32_t label = ++labels;
    for (std::int32_t k = from; k < to; ++k) part[nodes[k]] = label;
    queue.clear();
    search(nodes[from], label);
    if (std::int32_t(queue.size()) < to - from) return by_components(from, to, label);
    for (int again = 0; again < 2; ++again) {  // from an end of the part
      const std::int32_t first = queue.back();
      search(first, label);
    }
    const std::int32_t chosen = best_level(to - from);
    if (chosen < 0) return forget();
    const std::int32_t begin = starts[chosen], end = starts[chosen + 1];
    for (std::int32_t k = begin; k < end; ++k) {  // only what touches the next level must go
      const std::int32_t i = queue[k];
      const bool touches = std::any_of(graph.begin(i), graph.end(i), [&](std::int32_t j) {
        return part[j] == label && level[j] == chosen + 1;
      });
      level[i] = touches ? chosen : chosen - 1;
    }
    std::int32_t at = from;
    const auto put = [&](auto belongs) {
      for (const std::int32_t i : queue)
        if (belongs(level[i])) nodes[at++] = i;
      return at;
    };
    const std::int32_t below = put([&](std::int32_t l) { return l < chosen; });
    const std::int32_t above = put([&](std::int32_t l) { return l > chosen; });
    put([&](std::int32_t l) { return l == chosen; });
    for (std::int32_t k = above; k < to; ++k) part[nodes[k]] = CUT;
    parts.emplace_back(from, below);
    parts.emplace_back(below, above);
    forget();
    return true;
  }

  bool by_components(std::int32_t from, std::int32_t to, std::int32_t label) {
    const std::vector<std::int32_t> old(nodes.begin() + from, nodes.begin() + to);
    forget();
    std::int32_t at = from;
    for (const std::int32_t first : old) {
      if (part[first] != label) continue;
      search(first, label);
      for (const std::int32_t i : queue) nodes[at++] = i, part[i] = CUT;  // until it is cut itself
      parts.emplace_back(at - std::int32_t(queue.size()), at);
    }
    forget();
    return true;
  }

  bool forget() {
    for (const std::int32_t i : queue) level[i] = -1;
    queue.clear();
    return false;
  }

  // The smallest level for the size of its sides; -1 where none is small.
  std::int32_t best_level(std::int32_t count) const {
    std::int32_t best = -1;
    double least = 0;
    for (std::size_t l = 1; l + 2 < starts.size(); ++l) {
      const std::int32_t size = starts[l + 1] - starts[l];
      const std::int32_t side = std::min(starts[l], count - starts[l + 1]);
      if (side < LEAST_SHARE * count || size > LARGEST_CUT * count) continue;
      const double cost = double(size) / side;
      if (best < 0 || cost < least) best = std::int32_t(l), least = cost;
    }
    return best;
  }

  const Adjacency& graph;
  Fill fill;
  std::vector<std::int32_t> nodes, part, level, place, queue, starts;
  std::vector<std::pair<std::int32_t, std::int32_t>> parts;
  std::int32_t labels = 0;
};

}  // namespace elasticgnn
