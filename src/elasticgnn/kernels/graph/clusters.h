// Clusters of clusters: labels spread along the edges while no cluster grows beyond a limit, each
// cluster becomes a node of a smaller graph, and the same is done there with a larger limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace elasticgnn {

using Index = std::int32_t;

struct Level {
  std::vector<std::int64_t> start;  // (n + 1)
  std::vector<Index> column, weight,
      size;  // (slots), (slots): edges merged in a slot, (n): nodes merged in a node

  Index count() const { return Index(size.size()); }
};

// Each node takes the label that most of its edges lead to, among those with room, `sweeps` times
// over all nodes.
inline std::vector<Index> spread_labels(const Level& level, Index limit, int sweeps) {
  const Index n = level.count();
  std::vector<Index> label(n), room(n), votes(n, 0);
  std::iota(label.begin(), label.end(), 0);
  for (Index i = 0; i < n; ++i) room[i] = limit - level.size[i];
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (Index i = 0; i < n; ++i) {
      room[label[i]] += level.size[i];
      Index best = label[i], most = 0;
      for (std::int64_t p = level.start[i]; p < level.start[i + 1]; ++p) {
        const Index other = label[level.column[p]];
        votes[other] += level.weight[p];
        if (votes[other] > most && room[other] >= level.size[i]) most = votes[other], best = other;
      }
      for (std::int64_t p = level.start[i]; p < level.start[i + 1]; ++p)
        votes[label[level.column[p]]] = 0;
      label[i] = best;
      room[best] -= level.size[i];
    }
  }
  return label;
}

// Nodes sorted by label, in their order; `first` gets where each label's begin, and the labels
// become 0, 1, ...
inline std::vector<Index> group(std::vector<Index>& label, std::vector<Index>& first) {
  const Index n = Index(label.size());
  std::vector<Index> number(n, -1), members(n);
  Index labels = 0;
  for (Index& one : label) {
    if (number[one] < 0) number[one] = labels++;
    one = number[one];
  }
  first.assign(labels + 1, 0);
  for (const Index one : label) ++first[one + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Index> next(first.begin(), first.end() - 1);
  for (Index i = 0; i < n; ++i) members[next[label[i]]++] = i;
  return members;
}

// The graph of the clusters.
inline Level merge(const Level& level, const std::vector<Index>& label,
                   const std::vector<Index>& members, const std::vector<Index>& first) {
  Level merged;
  const Index labels = Index(first.size()) - 1;
  std::vector<std::int64_t> seen(labels,
                                 -1);  // the slot of the current cluster that leads to another
  merged.start.push_back(0);
  for (Index one = 0; one < labels; ++one) {
    const std::int64_t begin = merged.start.back();
    Index size = 0;
    for (Index k = first[one]; k < first[one + 1]; ++k) {
      const Index i = members[k];
      size += level.size[i];
      for (std::int64_t p = level.start[i]; p < level.start[i + 1]; ++p) {
        const Index other = label[level.column[p]];
        if (other == one) continue;
        if (seen[other] < begin) {
          seen[other] = std::int64_t(merged.column.size());
          merged.column.push_back(other), merged.weight.push_back(0);
        }
        merged.weight[seen[other]] += level.weight[p];
      }
    }
    merged.size.push_back(size);
    merged.start.push_back(std::int64_t(merged.column.size()));
  }
  return merged;
}

// The members of the largest clusters one after the other, and so on within each; node i's
// neighbours are column[start[i]] .. column[start[i + 1] - 1].
inline std::vector<Index> order_by_clusters(std::int64_t n, const std::int64_t* start,
                                            const Index* column) {
  constexpr Index kFirst = 32,
                  kGrowth = 8;  // nodes of the smallest clusters, and how much larger the next are
  constexpr int kSweeps = 6;
  Level level{{start, start + n + 1},
              {column, column + start[n]},
              std::vector<Index>(start[n], 1),
              std::vector<Index>(n, 1)};
  std::vector<std::vector<Index>> all_members, all_first;
  for (std::int64_t limit = kFirst; limit < 2 * n; limit *= kGrowth) {
    std::vector<Index> label = spread_labels(level, Index(std::min(limit, n)), kSweeps), first;
    std::vector<Index> members = group(label, first);
    level = merge(level, label, members, first);
    all_members.push_back(std::move(members)), all_first.push_back(std::move(first));
  }
  std::vector<Index> now(level.count()), below;
  std::iota(now.begin(), now.end(), 0);
  for (std::size_t depth = all_members.size(); depth-- > 0;) {
    below.clear();
    for (const Index one : now)
      below.insert(below.end(), all_members[depth].begin() + all_first[depth][one],
                   all_members[depth].begin() + all_first[depth][one + 1]);
    now.swap(below);
  }
  return now;
}

}  // namespace elasticgnn
