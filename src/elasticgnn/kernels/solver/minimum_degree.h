// An elimination order of minimum degree: quotient graph, approximate degrees and indistinguishable
// nodes as in Amestoy, Davis and Duff, "An approximate minimum degree ordering algorithm" (1996).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "solver/adjacency.h"
#include "solver/fill.h"

namespace elasticgnn {

class MinimumDegree {
 public:
  MinimumDegree(const Adjacency& graph, Fill& fill)
      : fill(fill),
        count(graph.size()),
        nodes(count),
        elements(count),
        weight(count, 1),
        degree(count),
        mark(count, -1),
        element_weight(count),
        stamp(count, -1),
        alive(count, 0),
        next(count, -1),
        previous(count, -1),
        head(count + 1, -1),
        follower(count, -1),
        last(count),
        hash(count) {
    const auto dense = std::int32_t(std::max(16.0, 10 * std::sqrt(double(count))));
    for (std::int32_t i = 0; i < count; ++i) {
      last[i] = i;
      if (graph.degree(i) > dense) weight[i] = 0, hubs.push_back(i);
    }
    for (std::int32_t i = 0; i < count; ++i) {
      if (weight[i] == 0) continue;
      for (const std::int32_t* j = graph.begin(i); j < graph.end(i); ++j)
        if (weight[*j] > 0) nodes[i].push_back(*j);
      degree[i] = std::int32_t(nodes[i].size());
      enlist(i);
    }
    left = count - std::int32_t(hubs.size());
  }

  // Nodes in the order of their elimination, those with very many neighbours last.
  std::vector<std::int32_t> order() {
    std::vector<std::int32_t> out;
    out.reserve(count);
    for (std::int32_t least = 0; left > 0;) {
      while (head[least] < 0) ++least;
      const std::int32_t pivot = head[least];
      eliminate(pivot);
      for (std::int32_t i = pivot; i >= 0; i = follower[i]) out.push_back(i);
      least = std::max(std::min(least, lowest), 0);
    }
    out.insert(out.end(), hubs.begin(), hubs.end());
    return out;
  }

 private:
  using List = std::vector<std::int32_t>;

  void enlist(std::int32_t i) {
    const std::int32_t first = head[degree[i]];
    next[i] = first, previous[i] = -1;
    if (first >= 0) previous[first] = i;
    head[degree[i]] = i;
    lowest = std::min(lowest, degree[i]);
  }

  void delist(std::int32_t i) {
    if (previous[i] >= 0) next[previous[i]] = next[i];
    else head[degree[i]] = next[i];
    if (next[i] >= 0) previous[next[i]] = previous[i];
  }

  // i is eliminated with `to`, right behind it
  void join(std::int32_t to, std::int32_t i) {
    weight[i] = 0;
    follower[last[to]] = i;
    last[to] = last[i];
    List().swap(nodes[i]), List().swap(elements[i]);
  }

  void eliminate(std::int32_t pivot) {
    delist(pivot);
    List around = neighbours(pivot);
    const std::int32_t taken = std::exchange(weight[pivot], 0);
    left -= taken;
    alive[pivot] = 1;
    lowest = count;
    std::int32_t size = 0;
    for (const std::int32_t i : around) size += weight[i], delist(i);
    // those around it are all joined from now on, whatever comes next
    fill.add(double(taken) * (size + taken / 2.0), double(size) * size / 2);
    count_outside(around, pivot);
    for (const std::int32_t i : around) size -= renew(i, pivot, size);
    merge_equal(around);
    List kept;
    for (const std::int32_t i : around)
      if (weight[i] > 0) enlist(i), kept.push_back(i);
    elements[pivot] = std::move(kept);  // from now on: the members of the element
    List().swap(nodes[pivot]);
    element_weight[pivot] = size;
  }

  // The nodes that the pivot's elimination joins, marked by the pivot; absorbs its elements.
  List neighbours(std::int32_t pivot) {
    List around;
    const auto add = [&](std::int32_t i) {
      if (weight[i] > 0 && i != pivot && mark[i] != pivot) mark[i] = pivot, around.push_back(i);
    };
    for (const std::int32_t i : nodes[pivot]) add(i);
    for (const std::int32_t e : elements[pivot]) {
      if (!alive[e]) continue;
      for (const std::int32_t i : elements[e]) add(i);
      absorb(e);
    }
    return around;
  }

  void absorb(std::int32_t e) {
    alive[e] = 0;
    List().swap(elements[e]);
  }

  // rest[e]: the weight of element e's members that are not around the pivot
  void count_outside(const List& around, std::int32_t pivot) {
    rest.resize(count);
    for (const std::int32_t i : around)
      for (const std::int32_t e : elements[i]) {
        if (!alive[e]) continue;
        if (stamp[e] != pivot) stamp[e] = pivot, rest[e] = element_weight[e];
        rest[e] -= weight[i];
      }
  }

  // New lists and degree of a node around the pivot; returns its weight if it goes with the pivot.
  std::int32_t renew(std::int32_t i, std::int32_t pivot, std::int32_t size) {
    std::int64_t beyond = 0, key = pivot;
    List& own = elements[i];
    std::size_t kept = 0;
    for (const std::int32_t e : own) {
      if (!alive[e]) continue;
      if (rest[e] == 0) {
        absorb(e);
        continue;
      }
      beyond += rest[e], key += e, own[kept++] = e;
    }
    own.resize(kept);
    own.push_back(pivot);
    List& near = nodes[i];
    kept = 0;
    for (const std::int32_t j : near)
      if (weight[j] > 0 && mark[j] != pivot) beyond += weight[j], key += j, near[kept++] = j;
    near.resize(kept);
    if (beyond == 0) {
      const std::int32_t gone = weight[i];
      left -= gone;
      join(pivot, i);
      return gone;
    }
    const std::int64_t others = size - weight[i];
    degree[i] = std::int32_t(std::max<std::int64_t>(
        0, std::min<std::int64_t>(
               {left - weight[i], std::int64_t(degree[i]) + others, beyond + others})));
    hash[i] = key;
    return 0;
  }

  // Nodes with the same neighbours and elements are one from now on.
  void merge_equal(const List& around) {
    List sorted;
    for (const std::int32_t i : around)
      if (weight[i] > 0) sorted.push_back(i);
    std::sort(sorted.begin(), sorted.end(), [&](std::int32_t a, std::int32_t b) {
      return hash[a] != hash[b] ? hash[a] < hash[b] : a < b;
    });
    for (std::size_t a = 0; a < sorted.size(); ++a) {
      const std::int32_t i = sorted[a];
      if (weight[i] == 0) continue;
      bool marked = false;
      for (std::size_t b = a + 1; b < sorted.size() && hash[sorted[b]] == hash[i]; ++b) {
        const std::int32_t j = sorted[b];
        if (weight[j] == 0 || nodes[i].size() != nodes[j].size() ||
            elements[i].size() != elements[j].size())
          continue;
        if (!marked) {
          ++mark_round;
          for (const std::int32_t v : nodes[i]) seen(v) = mark_round;
          for (const std::int32_t e : elements[i]) seen(e) = mark_round;
          marked = true;
        }
        const auto same = [&](std::int32_t v) { return seen(v) == mark_round; };
        if (!std::all_of(nodes[j].begin(), nodes[j].end(), same) ||
            !std::all_of(elements[j].begin(), elements[j].end(), same))
          continue;
        weight[i] += weight[j];
        degree[i] = std::max(0, degree[i] - weight[j]);
        join(i, j);
      }
    }
  }

  // nodes and elements have different numbers: one array serves both
  std::int64_t& seen(std::int32_t v) {
    if (rounds.empty()) rounds.assign(count, 0);
    return rounds[v];
  }

  Fill& fill;
  std::int32_t count, left = 0, lowest = 0;
  std::vector<List> nodes, elements;  // of a node; an element's members stand in `elements`
  std::vector<std::int32_t> weight, degree, mark, element_weight, stamp;
  std::vector<char> alive;  // as an element
  std::vector<std::int32_t> next, previous, head, follower, last;
  std::vector<std::int64_t> hash;
  List hubs, rest;
  std::vector<std::int64_t> rounds;
  std::int64_t mark_round = 0;
};

}  // namespace elasticgnn
