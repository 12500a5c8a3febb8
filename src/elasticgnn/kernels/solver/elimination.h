// What a sparse Cholesky factor looks like before there are numbers: the order of the nodes, runs
// of columns with the same rows (supernodes), their rows, and where everything stands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "solver/dissection.h"
#include "solver/fill.h"

namespace elasticgnn {

// Nodes are counted in their order of elimination. A supernode's front has its own columns first,
// then the rows below; the rows of a child stand in the front of its parent at `relative`.
struct Elimination {
  std::vector<std::int32_t> position;                  // of each node in the order
  std::vector<std::int32_t> first;                     // column of each supernode (s + 1,)
  std::vector<std::int64_t> row_start;                 // (s + 1,)
  std::vector<std::int32_t> rows, relative, children;  // children: how many each supernode has

  std::int32_t count() const { return std::int32_t(first.size()) - 1; }
  std::int64_t width(std::int32_t s) const { return first[s + 1] - first[s]; }
  std::int64_t below(std::int32_t s) const { return row_start[s + 1] - row_start[s]; }
};

class Eliminator {
 public:
  // At most so many blocks in the factor; std::length_error where there would be more.
  Eliminator(const Adjacency& graph, double most) : graph(graph), size(graph.size()), most(most) {}

  Elimination run() {
    number(Dissection(graph, most).order());
    find_parents();
    number(postordered());
    find_parents();
    count_columns();
    find_supernodes();
    find_rows();
    return std::move(out);
  }

 private:
  using List = std::vector<std::int32_t>;

  void number(List given) {
    order = std::move(given);
    out.position.resize(size);
    for (std::int32_t k = 0; k < size; ++k) out.position[order[k]] = k;
  }

  // run(j) for the neighbours of column k that come before it
  template <class Run>
  void earlier(std::int32_t k, const Run& run) const {
    const std::int32_t i = order[k];
    for (const std::int32_t* j = graph.begin(i); j < graph.end(i); ++j)
      if (out.position[*j] < k) run(out.position[*j]);
  }

  // The elimination tree (Liu's algorithm, with shortcuts to the highest known ancestor).
  void find_parents() {
    parent.assign(size, -1);
    List ancestor(size, -1);
    for (std::int32_t k = 0; k < size; ++k)
      earlier(k, [&](std::int32_t j) {
        while (ancestor[j] >= 0 && ancestor[j] != k) j = std::exchange(ancestor[j], k);
        if (ancestor[j] < 0) ancestor[j] = parent[j] = k;
      });
  }

  // The same order with every subtree in one run.
  List postordered() const {
    List head(size, -1), next(size, -1), stack, post;
    for (std::int32_t k = size; k-- > 0;)
      if (parent[k] >= 0) next[k] = head[parent[k]], head[parent[k]] = k;
    for (std::int32_t root = 0; root < size; ++root) {
      if (parent[root] >= 0) continue;
      stack.assign(1, root);
      while (!stack.empty()) {
        const std::int32_t k = stack.back();
        if (head[k] >= 0) {
          stack.push_back(head[k]);
          head[k] = next[head[k]];
        } else {
          post.push_back(order[k]);
          stack.pop_back();
        }
      }
    }
    return post;
  }

  // Numbers in each column of the factor, the diagonal among them.
  void count_columns() {
    columns.assign(size, 1);
    List mark(size, -1);
    Fill fill(most);
    for (std::int32_t k = 0; k < size; ++k) {
      mark[k] = k;
      std::int32_t across = 1;
      earlier(k, [&](std::int32_t j) {
        for (; mark[j] != k; j = parent[j]) mark[j] = k, ++columns[j], ++across;
      });
      fill.add(across);
    }
  }

  // A run: first column, width, rows of its first column, zeros that merging has stored
  struct Run {
    std::int32_t first;
    std::int64_t width, height, zeros;
  };

  // Runs that are worth one front although this stores zeros: all small ones, few zeros otherwise.
  static bool worth(const Run& both) {
    const double stored =
        double(both.width) * double(both.height) - double(both.width * (both.width - 1)) / 2;
    const double share = double(both.zeros) / stored;
    return both.width <= 4 || (both.width <= 16 && share < 0.3) ||
           (both.width <= 48 && share < 0.1) || share < 0.03;
  }

  void find_supernodes() {
    std::vector<Run> runs;
    for (std::int32_t k = 0; k < size; ++k) {
      Run now{k, 1, columns[k], 0};
      while (!runs.empty()) {  // the run that ends right before it, if its parent is this one
        const Run& before = runs.back();
        if (parent[now.first - 1] < now.first || parent[now.first - 1] >= now.first + now.width)
          break;
        Run both{before.first, before.width + now.width, before.width + now.height, 0};
        const std::int64_t taller = both.height - before.height;  // zeros in each column of before
        both.zeros = before.zeros + now.zeros + taller * before.width;
        if (taller > 0 && !worth(both)) break;
        now = both;
        runs.pop_back();
      }
      runs.push_back(now);
    }
    for (const Run& run : runs) out.first.push_back(run.first);
    out.first.push_back(size);
  }

  void find_rows() {
    const std::int32_t count = out.count();
    List owner(size), mark(size, -1), head(count, -1), next(count, -1), found;
    for (std::int32_t s = 0; s < count; ++s)
      std::fill(owner.begin() + out.first[s], owner.begin() + out.first[s + 1], s);
    out.row_start.assign(1, 0);
    out.children.assign(count, 0);
    for (std::int32_t s = 0; s < count; ++s) {
      found.clear();
      const std::int32_t end = out.first[s + 1];
      const auto add = [&](std::int32_t k) {
        if (k >= end && mark[k] != s) mark[k] = s, found.push_back(k);
      };
      for (std::int32_t k = out.first[s]; k < end; ++k)
        for (const std::int32_t* j = graph.begin(order[k]); j < graph.end(order[k]); ++j)
          add(out.position[*j]);
      for (std::int32_t c = head[s]; c >= 0; c = next[c])
        for (std::int64_t p = out.row_start[c]; p < out.row_start[c + 1]; ++p) add(out.rows[p]);
      std::sort(found.begin(), found.end());
      out.rows.insert(out.rows.end(), found.begin(), found.end());
      out.row_start.push_back(std::int64_t(out.rows.size()));
      if (found.empty()) continue;
      const std::int32_t above = owner[found.front()];
      next[s] = head[above], head[above] = s;
      ++out.children[above];
    }
    find_relative(owner);
  }

  void find_relative(const List& owner) {
    out.relative.resize(out.rows.size());
    for (std::int32_t s = 0; s < out.count(); ++s) {
      if (!out.below(s)) continue;
      const std::int32_t above = owner[out.rows[out.row_start[s]]];
      const auto width = std::int32_t(out.width(above));
      std::int64_t at = out.row_start[above];
      for (std::int64_t p = out.row_start[s]; p < out.row_start[s + 1]; ++p) {
        const std::int32_t k = out.rows[p];
        if (k < out.first[above + 1]) {
          out.relative[p] = k - out.first[above];
          continue;
        }
        while (out.rows[at] != k) ++at;
        out.relative[p] = width + std::int32_t(at - out.row_start[above]);
      }
    }
  }

  const Adjacency& graph;
  std::int32_t size;
  double most;
  List order, parent, columns;
  Elimination out;
};

}  // namespace elasticgnn
