// Total variation on a forest, exactly: dynamic programming from the leaves to the roots.
//
//     min over U of  1/2 sum_i h_i (U_i - b_i)^2 + sum_e radius_e |U_i - U_parent(i)|
//
// Kolmogorov, Pock and Rolinek, "Total variation on a tree" (SIAM J. Imaging Sci. 2016). What the
// subtree of node i asks of its parent is a function of the parent's value x whose derivative is
// piecewise linear, never falls, and lies in [-radius, radius]; its breakpoints stand in two
// mergeable heaps, by smallest and by largest x. h_i = 0 (a missing value) is a line without slope.
//
// Nodes are numbered so that a parent comes before its children; parent[i] = -1 at a root.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

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

// Breakpoints: where the derivative's line changes by `change`. Both heaps hold every breakpoint
// until one of them takes it; the other drops it when it comes up.
class Breakpoints {
 public:
  enum Side { smallest = 0, largest = 1 };

  explicit Breakpoints(std::int32_t count)
      : x_(count),
        change_(count),
        taken_(count, 0),
        left_{filled(count), filled(count)},
        right_{filled(count), filled(count)} {}

  double x(std::int32_t item) const { return x_[item]; }
  const Line& change(std::int32_t item) const { return change_[item]; }

  void set(std::int32_t item, double x, Line change) {
    x_[item] = x;
    change_[item] = change;
  }

  // The first breakpoint of a heap that is still there, or -1.
  std::int32_t top(Side side, std::int32_t& root) {
    while (root >= 0 && taken_[root]) root = without_root(side, root);
    return root;
  }

  void take(Side side, std::int32_t& root) {
    taken_[root] = 1;
    root = without_root(side, root);
  }

  // One skew heap of two; the right spine is walked down, then put together from its end.
  std::int32_t merge(Side side, std::int32_t a, std::int32_t b) {
    spine_.clear();
    while (a >= 0 && b >= 0) {
      if (side == smallest ? x_[b] < x_[a] : x_[b] > x_[a]) std::swap(a, b);
      spine_.push_back(a);
      a = right_[side][a];
    }
    std::int32_t merged = a >= 0 ? a : b;
    while (!spine_.empty()) {
      const std::int32_t item = spine_.back();
      spine_.pop_back();
      right_[side][item] = left_[side][item];
      left_[side][item] = merged;
      merged = item;
    }
    return merged;
  }

 private:
  static std::vector<std::int32_t> filled(std::int32_t count) {
    return std::vector<std::int32_t>(count, -1);
  }
  std::int32_t without_root(Side side, std::int32_t root) {
    return merge(side, left_[side][root], right_[side][root]);
  }

  std::vector<double> x_;
  std::vector<Line> change_;
  std::vector<char> taken_;
  std::vector<std::int32_t> left_[2], right_[2], spine_;
};

class ForestSolver {
 public:
  explicit ForestSolver(const ForestProblem& problem)
      : p_(problem),
        points_(2 * problem.nodes),
        roots_(problem.nodes, {-1, -1}),
        ends_(problem.nodes, {0, 0}) {}

  // low and high: the range in which each node follows its parent; a root's value in both.
  void ranges(double* low, double* high) {
    low_ = low, high_ = high;
    for (std::int32_t i = p_.nodes - 1; i >= 0; --i) {
      if (p_.parent[i] < 0) low[i] = high[i] = root_value(i);
      else send_message(i);
    }
  }

 private:
  static constexpr double INF = std::numeric_limits<double>::infinity();
  using Roots = std::pair<std::int32_t, std::int32_t>;

  Line own_line(std::int32_t i, double end) const {
    return {p_.stiff[i], end - p_.stiff[i] * p_.center[i]};
  }

  // Where the derivative of everything below and at a root is zero.
  double root_value(std::int32_t i) {
    Line line = own_line(i, ends_[i].first);
    std::int32_t heap = roots_[i].first;
    while (points_.top(Breakpoints::smallest, heap) >= 0 && line.at(points_.x(heap)) <= 0) {
      line.slope += points_.change(heap).slope;
      line.offset += points_.change(heap).offset;
      points_.take(Breakpoints::smallest, heap);
    }
    if (line.slope > 0) return -line.offset / line.slope;
    return heap >= 0 ? points_.x(heap) : p_.center[i];
  }

  // Clip the derivative to [-radius, radius] and hand it to the parent.
  void send_message(std::int32_t i) {
    const double radius = p_.radius[i];
    Roots heaps = roots_[i];
    const double below = clip_left(i, radius, heaps);
    const double above = clip_right(i, radius, heaps);
    const std::int32_t to = p_.parent[i];
    ends_[to].first += below;
    ends_[to].second += above;
    roots_[to].first = points_.merge(Breakpoints::smallest, roots_[to].first, heaps.first);
    roots_[to].second = points_.merge(Breakpoints::largest, roots_[to].second, heaps.second);
  }

  // low_i <- where the derivative leaves -radius; returns its value far to the left.
  double clip_left(std::int32_t i, double radius, Roots& heaps) {
    Line line = own_line(i, ends_[i].first);
    double last = -INF;
    while (points_.top(Breakpoints::smallest, heaps.first) >= 0 &&
           line.at(points_.x(heaps.first)) <= -radius) {
      line.slope += points_.change(heaps.first).slope;
      line.offset += points_.change(heaps.first).offset;
      last = points_.x(heaps.first);
      points_.take(Breakpoints::smallest, heaps.first);
    }
    low_[i] = -INF;
    if (!(line.slope > 0) && last == -INF) return line.offset;
    low_[i] = line.slope > 0 ? std::max((-radius - line.offset) / line.slope, last) : last;
    insert(2 * i, low_[i], {line.slope, line.offset + radius}, heaps);
    return -radius;
  }

  // high_i <- where the derivative reaches radius; returns its value far to the right.
  double clip_right(std::int32_t i, double radius, Roots& heaps) {
    Line line = own_line(i, ends_[i].second);
    double last = INF;
    while (points_.top(Breakpoints::largest, heaps.second) >= 0 && heaps.second != 2 * i &&
           line.at(points_.x(heaps.second)) >= radius) {
      line.slope -= points_.change(heaps.second).slope;
      line.offset -= points_.change(heaps.second).offset;
      last = points_.x(heaps.second);
      points_.take(Breakpoints::largest, heaps.second);
    }
    high_[i] = INF;
    if (!(line.slope > 0) && last == INF) return line.offset;
    const double reached =
        line.slope > 0 ? std::min((radius - line.offset) / line.slope, last) : last;
    high_[i] = std::max(reached, low_[i]);
    insert(2 * i + 1, high_[i], {-line.slope, radius - line.offset}, heaps);
    return radius;
  }

  void insert(std::int32_t item, double x, Line change, Roots& heaps) {
    points_.set(item, x, change);
    heaps.first = points_.merge(Breakpoints::smallest, heaps.first, item);
    heaps.second = points_.merge(Breakpoints::largest, heaps.second, item);
  }

  ForestProblem p_;
  Breakpoints points_;
  std::vector<Roots> roots_;                     // both heaps of a node's derivative
  std::vector<std::pair<double, double>> ends_;  // its offsets far to the left and to the right
  double *low_ = nullptr, *high_ = nullptr;
};

// The same where every node has at most one child, the one numbered after it (chains, rooted at an
// end): breakpoints stay sorted by themselves, so that a double-ended queue takes the heaps' place
// and everything is read in a row. O(n).
class ChainSolver {
 public:
  explicit ChainSolver(const ForestProblem& problem)
      : p_(problem), points_(2 * std::size_t(problem.nodes) + 2) {}

  static bool serves(const ForestProblem& problem) {
    for (std::int32_t i = 0; i < problem.nodes; ++i)
      if (problem.parent[i] >= 0 && problem.parent[i] != i - 1) return false;
    return true;
  }

  // low and high: the range in which each node follows its parent; a root's value in both.
  void ranges(double* low, double* high) {
    clear();
    for (std::int32_t i = p_.nodes - 1; i >= 0; --i) {
      if (p_.parent[i] < 0) {
        low[i] = high[i] = root_value(i);
        clear();
      } else {
        send_message(i, low[i], high[i]);
      }
    }
  }

 private:
  static constexpr double INF = std::numeric_limits<double>::infinity();
  struct Point {
    double x;
    Line change;
  };

  void clear() {
    first_ = last_ = p_.nodes + 1;  // a push at either end per node never leaves the room
    below_ = above_ = 0;
  }

  double root_value(std::int32_t i) {
    Line line{p_.stiff[i], below_ - p_.stiff[i] * p_.center[i]};
    for (; first_ < last_ && line.at(points_[first_].x) <= 0; ++first_)
      add(line, points_[first_], 1);
    if (line.slope > 0) return -line.offset / line.slope;
    return first_ < last_ ? points_[first_].x : p_.center[i];
  }

  void send_message(std::int32_t i, double& low, double& high) {
    const double radius = p_.radius[i], own = p_.stiff[i] * p_.center[i];
    Line left{p_.stiff[i], below_ - own}, right{p_.stiff[i], above_ - own};
    double last = -INF;
    for (; first_ < last_ && left.at(points_[first_].x) <= -radius; ++first_) {
      add(left, points_[first_], 1);
      last = points_[first_].x;
    }
    low = -INF, below_ = left.offset;
    bool begun = false;
    if (left.slope > 0 || last > -INF) {
      low = left.slope > 0 ? std::max((-radius - left.offset) / left.slope, last) : last;
      points_[--first_] = {low, {left.slope, left.offset + radius}};
      below_ = -radius, begun = true;
    }
    last = INF;
    for (; last_ - first_ > (begun ? 1 : 0) && right.at(points_[last_ - 1].x) >= radius; --last_) {
      add(right, points_[last_ - 1], -1);
      last = points_[last_ - 1].x;
    }
    high = INF, above_ = right.offset;
    if (right.slope > 0 || last < INF) {
      const double reached =
          right.slope > 0 ? std::min((radius - right.offset) / right.slope, last) : last;
      high = std::max(reached, low);
      points_[last_++] = {high, {-right.slope, radius - right.offset}};
      above_ = radius;
    }
  }

  static void add(Line& line, const Point& point, double sign) {
    line.slope += sign * point.change.slope;
    line.offset += sign * point.change.offset;
  }

  ForestProblem p_;
  std::vector<Point> points_;  // the queue: first_ to last_, by ascending x
  std::size_t first_ = 0, last_ = 0;
  double below_ = 0, above_ = 0;  // offsets of the derivative far to the left and to the right
};

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
  if (ChainSolver::serves(p)) ChainSolver(p).ranges(low.data(), high.data());
  else ForestSolver(p).ranges(low.data(), high.data());
  for (std::int32_t i = 0; i < p.nodes; ++i)
    signal[i] = p.parent[i] < 0 ? low[i] : std::min(std::max(signal[p.parent[i]], low[i]), high[i]);
  collect_flow(p, signal, low.data(), flow);
}

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
  for (std::int64_t turn = 0; turn < 2 * std::int64_t(mesh.nodes); ++turn) {
    const std::int32_t first = std::int32_t(turn % mesh.nodes);
    if (place[first] >= 0 || (turn < mesh.nodes && !is_end(first))) continue;
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
