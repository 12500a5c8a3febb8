// Elastic message passing for wide rows: memory, threads, and the choice of the row type.
#pragma once

#include "emp/wide/forward.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class Row, class T>
std::size_t wide_forward_rows(const EmpProblem<T>& problem, const WideForward<T>& job,
                              const Row& row, char* scratch) {
  using Loops = WideForwardLoops<Row, T>;
  using Vec = typename Row::Vec;
  Arena arena{scratch};
  const Plan<T> plan = make_wide_plan(problem, job.weights);
  const std::int64_t rows = problem.num_nodes * row.stride();
  T *const u = arena.take<T>(rows), *const y = arena.take<T>(rows), *const in = arena.take<T>(rows);
  T* const dual = arena.take<T>(problem.num_edges * row.stride());
  const PairTable<Row, T> pairs(problem.num_nodes, row, arena);
  const LazyDual lazy(problem.num_edges, problem.steps, arena);
  const ColumnBlocks<T> columns(problem, row, job.weights.slot != nullptr, arena);
  const std::int64_t each = 2 * row.count();
  Vec* const pool = arena.take<Vec>(problem.threads * each);
  const TileWalk walk{job.tiles, problem.num_nodes, problem.start, problem.column,
                      columns.count > 1};
  ActiveRowWriter<T> writer(problem, job.active, walk.num_chunks(), row.stride(), arena);
  if (scratch == nullptr) return arena.used;
  lazy.begin();
  columns.fill(job.weights.slot, plan.threads);
#pragma omp parallel num_threads(plan.threads)
  {
    Vec* const own_pool = pool + omp_get_thread_num() * each;
    const Loops loops{problem, plan,    pairs,    walk, row, job.weights.edge,
                      lazy,    columns, own_pool, in,   dual};
    loops.run(u, y, job.out, job.active ? &writer : nullptr);
  }
  return writer.failed_before(problem.steps) ? 0 : arena.used;
}

}  // namespace

// Bytes of scratch that the call needs when `scratch` is null; else runs it, and gives 0 if memory
// ran out.
template <class T>
std::size_t wide_forward(const EmpProblem<T>& problem, const WideForward<T>& job, char* scratch) {
  const auto run = [&](const auto& row) { return wide_forward_rows(problem, job, row, scratch); };
  if (problem.shape == Shape::ball) return with_wide_row<T, Shape::ball>(problem.width, run);
  if (problem.shape == Shape::box) return with_wide_row<T, Shape::box>(problem.width, run);
  return with_wide_row<T, Shape::fading>(problem.width, run);
}

}  // namespace elasticgnn::ISA_NAMESPACE
