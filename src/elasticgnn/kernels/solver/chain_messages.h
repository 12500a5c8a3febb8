// The messages of forest.h where every node has at most one child, the one numbered after it
// (chains, rooted at an end): breakpoints stay sorted by themselves, so that a double-ended queue
// takes the heaps' place and everything is read in a row. O(n).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "solver/forest_problem.h"

namespace elasticgnn {

class ChainMessages {
 public:
  explicit ChainMessages(const ForestProblem& problem)
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

}  // namespace elasticgnn
