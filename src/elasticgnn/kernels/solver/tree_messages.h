// The messages of forest.h on any forest: the derivative's breakpoints stand in two mergeable
// heaps, by smallest and by largest x.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "solver/forest_problem.h"

namespace elasticgnn {

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

class TreeMessages {
 public:
  explicit TreeMessages(const ForestProblem& problem)
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

}  // namespace elasticgnn
