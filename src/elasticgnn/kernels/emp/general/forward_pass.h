// Elastic message passing: memory, threads, and the choice of the row type.
#pragma once

#include "emp/general/kinds.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class K, class T>
std::size_t forward(const EmpProblem<T>& problem, const EmpForward<T>& job, char* scratch,
                    bool weighted) {
  using Loop = typename K::Forward;
  Arena arena{scratch};
  const Plan<T> plan = make_plan(problem, weighted, arena);
  const std::int64_t row = plan.row(), nodes = problem.num_nodes * row,
                     duals = problem.num_edges * row;
  const int steps = problem.steps;
  const bool all = job.gradients != WantedGradients::none && job.all_nodes;
  States<T> at{};
  at.out = job.out;
  at.ahead_stride = all ? nodes : 0;
  at.signal_stride = at.pile_stride = all && job.gradients == WantedGradients::all ? nodes : 0;
  at.ahead = all ? job.nodes : arena.take<T>(nodes);
  at.signal = at.signal_stride ? job.nodes + steps * nodes : arena.take<T>(nodes);
  at.pile = at.pile_stride ? job.nodes + (2 * steps - 1) * nodes
            : job.use_dual ? arena.take<T>(nodes)
                           : nullptr;
  at.half = job.use_dual && plan.threads > 1 ? arena.take<T>(nodes) : nullptr;
  T* work = job.use_dual ? (job.last_dual ? job.last_dual : arena.take<T>(duals)) : nullptr;
  auto** table = arena.take<const T*>(steps + 1);
  const typename Loop::R shape{problem.runs, problem.width};
  auto* pool = arena.take<typename Loop::Vec>(problem.threads * pool_size(shape));
  if (scratch == nullptr) return arena.used;

  at.dual = table;
  for (int k = 0; k <= steps; ++k) table[k] = work;
  table[0] = job.first_dual;
  for (int k = job.every; job.gradients != WantedGradients::none && k < steps; k += job.every)
    table[k] = job.duals + (k / job.every - 1) * duals;
#pragma omp parallel num_threads(plan.threads)
  {
    Loop loop{plan, problem, row, shape, pool + omp_get_thread_num() * pool_size(shape)};
    loop.scale_rows(job.first_signal ? job.first_signal : problem.x, at.u(0));
    if (!job.use_dual) {
      loop.run_plain(at.signal, at.ahead, job.out, steps);
    } else {
      if (job.first_dual)
        loop.sweep(plan.by_slot,
                   [&](auto low, auto high) { loop.weigh(low, high, job.first_dual, at.q(0)); });
      const bool pause = job.gradients != WantedGradients::none && !job.all_nodes;
      for (int k = 0; k < steps; k += pause ? job.every : steps) {
        if (pause && k > 0)
          copy_rows(plan.by_slot, at.u(k), job.nodes + (k / job.every - 1) * nodes, row);
        loop.run(at, k, pause && k + job.every < steps ? k + job.every : steps, nullptr);
      }
    }
  }
  return arena.used;
}

}  // namespace

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
template <class T>
std::size_t emp_forward(const EmpProblem<T>& problem, const EmpForward<T>& job, char* scratch) {
  const bool weighted = !all_ones(problem.weight, problem.num_edges);
  return with_kind(
      problem, [&](auto kind) { return forward<decltype(kind)>(problem, job, scratch, weighted); });
}

}  // namespace elasticgnn::ISA_NAMESPACE
