// What the tiles of edges share: two rows of every node, and the walk of a team over all of them.
#pragma once

#include "emp/wide/rows.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// Two rows of every node side by side: the first for its edges to read, the second for their sum.
template <class Row, class T>
struct PairTable {
  const Row row;
  T* table;  // (n, 2, stride)

  PairTable(std::int64_t num_nodes, const Row& row_, Arena& arena)
      : row(row_), table(arena.take<T>(2 * num_nodes * row_.stride())) {}
  ELASTICGNN_INLINE T* read(std::int64_t i) const { return table + 2 * i * row.stride(); }
  ELASTICGNN_INLINE T* sum(std::int64_t i) const { return read(i) + row.stride(); }
};

// How the threads share sweeps over all nodes, with the weights that the graph keeps.
template <class T>
Plan<T> make_wide_plan(const EmpProblem<T>& problem, const WideWeights<T>& weights) {
  Plan<T> plan = make_slot_plan(problem);
  plan.slot_weight = weights.slot, plan.total_weight = weights.total;
  return plan;
}

// body(low, high) for all nodes, by all threads of a team, which meet behind. Shares are taken as
// threads come: what a node costs differs with its number of edges and from sweep to sweep.
template <class Body>
ELASTICGNN_INLINE void share_nodes(const Blocks& shares, const Body& body) {
#pragma omp for schedule(dynamic, 1)
  for (int b = 0; b < shares.count; ++b) body(shares.bound[b], shares.bound[b + 1]);
}

// Which chunks a tile has, and walks of a team over all of them.
struct TileWalk {
  const WideTiles& tiles;
  const std::int64_t num_nodes;
  const std::int64_t* start;   // (n + 1), and
  const std::int32_t* column;  // (2m): the neighbours of each node, ascending
  const bool in_one_piece;     // a thread gathers for all of its nodes block by block of columns

  std::int64_t first_chunk(std::int64_t tile) const {
    std::int64_t chunk = 0;
    for (std::int64_t t = 0; t < tile; ++t)
      chunk += (tiles.first_edge[t + 1] - tiles.first_edge[t] + kChunkEdges - 1) / kChunkEdges;
    return chunk;
  }
  std::int64_t num_chunks() const { return first_chunk(tiles.first_tile[tiles.num_rounds]); }

  // edges(chunk, first, last) of every chunk; done(low, high) of all nodes once their edges are
  // done; next(low, high) of all nodes once all their neighbours are. By all threads of a team.
  template <class EdgesOf, class Done, class Next>
  void visit(const Blocks& shares, const EdgesOf& edges, const Done& done, const Next& next) const {
    if (omp_get_num_threads() == 1) return visit_alone(edges, done, next);
    for (std::int64_t round = 0; round < tiles.num_rounds; ++round)
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t t = tiles.first_tile[round]; t < tiles.first_tile[round + 1]; ++t)
        visit_tile(t, edges, [](std::int64_t) {});
    share_nodes(shares, done);
    share_gathers(shares, next);
  }

  // body(low, high) for all nodes, whose neighbours' rows it gathers, as share_nodes does it.
  template <class Body>
  void share_gathers(const Blocks& shares, const Body& body) const {
    if (!in_one_piece) return share_nodes(shares, body);
    const int threads = omp_get_num_threads(), me = omp_get_thread_num();
    body(first_node(shares, threads, me), first_node(shares, threads, me + 1));
#pragma omp barrier
  }

 private:
  // One thread follows the edges of the last round, whose tails ascend, with `done` and `next`: the
  // rows of near nodes are still in its cache.
  template <class EdgesOf, class Done, class Next>
  void visit_alone(const EdgesOf& edges, const Done& done, const Next& next) const {
    std::int64_t settled = 0, ready = 0;
    const std::int64_t all = tiles.first_tile[tiles.num_rounds],
                       last = tiles.first_tile[tiles.num_rounds - 1];
    const auto follow = [&](std::int64_t end) {
      done(settled, end), settled = end;
      const std::int64_t from = ready;
      if (settled == num_nodes) ready = num_nodes;  // no need to look at each
      while (ready < settled &&
             (start[ready] == start[ready + 1] || column[start[ready + 1] - 1] < settled))
        ++ready;
      next(from, ready);
    };
    for (std::int64_t t = 0; t < last; ++t) visit_tile(t, edges, [](std::int64_t) {});
    for (std::int64_t t = last; t < all; ++t)
      visit_tile(t, edges, [&](std::int64_t e) {
        if (e < tiles.first_edge[all]) follow(tiles.tail[e]);
      });
    follow(num_nodes);
  }

  // edges(...) of the chunks of a tile, and behind(e) after each, e the first edge behind it
  template <class EdgesOf, class Behind>
  void visit_tile(std::int64_t tile, const EdgesOf& edges, const Behind& behind) const {
    std::int64_t chunk = first_chunk(tile);
    const std::int64_t end = tiles.first_edge[tile + 1];
    for (std::int64_t e = tiles.first_edge[tile]; e < end; ++chunk) {
      const std::int64_t first = e;
      e = first + kChunkEdges < end ? first + kChunkEdges : end;
      edges(chunk, first, e);
      behind(e);
    }
  }
};

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
