// The adjoint of elastic message passing: memory, threads, segments between checkpoints.
#pragma once

#include "emp/general/kinds.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class T>
struct Gradients {
  T *g, *scaled_grad, *other, *t;
};

// One step's adjoint, by every thread of a team.
template <class Loop, class T>
void step_back(Loop& loop, const States<T>& at, int first, int k, Gradients<T>& state,
               const EmpBackward<T>& job) {
  const Plan<T>& plan = loop.plan;
  const auto sweep = [&](const Blocks& blocks, const auto& body) {
    for_blocks(blocks, [&](int block, std::int64_t low, std::int64_t high) {
      for (int group = 0; group < loop.rows.groups(); ++group) {
        loop.rows.select(group);
        body(block, low, high);
      }
    });
#pragma omp barrier
  };
  const bool fresh = k + 1 == plan.problem->steps;
  sweep(plan.by_tail, [&](int block, auto low, auto high) {
    loop.descend(block, low, high, at, first, k, state.scaled_grad, fresh, state.t, state.other);
  });
  sweep(plan.by_head, [&](int block, auto low, auto high) {
    loop.collect(block, low, high, at, k, state.t, state.other, state.g, state.scaled_grad,
                 job.grad_x);
  });
  sweep(plan.by_slot, [&](int block, auto low, auto high) {
    loop.spread(block, low, high, at, k, state.scaled_grad, state.g, state.other);
  });
  T* swap = state.scaled_grad;
  state.scaled_grad = state.other;
  state.other = swap;
}

// Gradients at the last step: of U, G = s^2 times it, and of the division F = U / s.
template <class T>
void start_back(const Plan<T>& plan, const EmpBackward<T>& job, T* g, T* scaled_grad) {
  const std::int64_t row = plan.row();
  for_blocks(plan.by_slot, [&](int, std::int64_t low, std::int64_t high) {
    for (std::int64_t i = low; i < high; ++i) {
      const T s = plan.problem->scale[i];
      T product = 0;
      for (std::int64_t c = i * row; c < (i + 1) * row; ++c) {
        if (job.grad_scale) product += job.grad[c] * job.out[c];
        if (g) g[c] = job.grad[c] / s;
        scaled_grad[c] = job.grad[c] * s;
        job.grad_x[c] = 0;
      }
      if (job.grad_scale) job.grad_scale[i] = -product / s;
    }
  });
#pragma omp barrier
}

// U = s X at the first step passes the gradient on to X and s; `rows` is g, or s^2 g.
template <class T>
void end_back(const Plan<T>& plan, const EmpBackward<T>& job, const T* rows, bool squared) {
  const std::int64_t row = plan.row();
  for_blocks(plan.by_slot, [&](int, std::int64_t low, std::int64_t high) {
    for (std::int64_t i = low; i < high; ++i) {
      const T s = plan.problem->scale[i], factor = squared ? 1 / s : s;
      T product = 0;
      for (std::int64_t c = i * row; c < (i + 1) * row; ++c) {
        job.grad_x[c] += factor * rows[c];
        if (job.grad_scale) product += plan.problem->x[c] * rows[c];
      }
      if (job.grad_scale) job.grad_scale[i] += product;
    }
  });
}

template <class K, class T>
std::size_t backward_plain(const EmpProblem<T>& problem, const EmpBackward<T>& job, char* scratch,
                           bool weighted) {
  using Loop = typename K::Adjoint;
  Arena arena{scratch};
  const Plan<T> plan = make_plan(problem, weighted, arena);
  const std::int64_t nodes = problem.num_nodes * plan.row();
  T *even = arena.take<T>(nodes), *odd = arena.take<T>(nodes);
  const typename Loop::R shape{problem.runs, problem.width};
  auto* pool = arena.take<typename Loop::Vec>(problem.threads * pool_size(shape));
  if (scratch == nullptr) return arena.used;
#pragma omp parallel num_threads(plan.threads)
  {
    Loop loop{plan, pool + omp_get_thread_num() * pool_size(shape), Extras<T>{}};
    start_back(plan, job, static_cast<T*>(nullptr), even);
    for (int k = 0; k < problem.steps && loop.steps.next(); ++k)
      loop.sweep(plan.by_slot, [&](auto low, auto high) {
        loop.spread_plain(low, high, k % 2 ? odd : even, k % 2 ? even : odd, job.grad_x);
      });
    end_back(plan, job, problem.steps % 2 ? odd : even, true);
  }
  return arena.used;
}

// Buffers of the adjoint: the states of one segment between two checkpoints, and the gradients.
template <class T>
struct BackwardMemory {
  States<T> at{};
  Gradients<T> state{};
  T* work = nullptr;
  double* sums = nullptr;

  BackwardMemory(const EmpProblem<T>& problem, const EmpBackward<T>& job, Arena& arena) {
    const std::int64_t row = problem.runs * problem.width, nodes = problem.num_nodes * row;
    const std::int64_t duals = problem.num_edges * row;
    const bool extras = job.grad_weight || job.grad_scale || job.grad_sizes;
    const bool ready = job.is_saved && job.all_nodes;
    const int steps = problem.steps, every = job.every < steps ? job.every : steps;
    state.g = arena.take<T>(nodes);
    state.scaled_grad = arena.take<T>(nodes);
    state.other = arena.take<T>(nodes);
    state.t = arena.take<T>(duals);
    at.ahead_stride = nodes;
    at.signal_stride = at.pile_stride = extras ? nodes : 0;
    if (ready) {
      at.ahead = const_cast<T*>(job.nodes);
      at.signal = at.ahead + steps * nodes;
      at.pile = at.ahead + (2 * steps - 1) * nodes;
    } else {
      at.ahead = arena.take<T>(every * nodes);
      at.signal = arena.take<T>((extras ? every + 1 : 1) * nodes);
      at.pile = extras ? arena.take<T>((every + 1) * nodes) : nullptr;  // see replay_segment
      // t is free until the last segment's adjoint begins, and then Z of that segment is not needed
      work = extras || every < steps ? arena.take<T>(duals) : state.t;
    }
    auto** table = arena.take<const T*>(steps + 1);
    if (job.grad_sizes) sums = arena.take<double>(kMaxBlocks * 4 * problem.runs);
    if (arena.base == nullptr) return;
    for (int k = 0; k <= steps; ++k) table[k] = work ? work : state.t;
    table[0] = nullptr;
    for (int k = every; job.is_saved && k < steps; k += every)
      table[k] = job.duals + (k / every - 1) * duals;
    at.dual = table;
    for (std::int64_t c = 0; sums && c < kMaxBlocks * 4 * problem.runs; ++c) sums[c] = 0;
  }
};

// Rerun steps first .. last - 1, so that Ub (and U, Q for `extras`) of each are in place. If only
// Ub is wanted, Q lies where the last Ub will: a node's Q is read for the last time just before.
template <class Loop, class T>
void replay_segment(Loop& loop, const EmpBackward<T>& job, States<T> at, T* half, T* work,
                    int first, int last) {
  const Plan<T>& plan = loop.plan;
  const std::int64_t row = plan.row(), nodes = plan.problem->num_nodes * row;
  if (!at.pile_stride) at.pile = at.ub(last - 1);
  at.half = half;
  if (first == 0) loop.scale_rows(plan.problem->x, at.u(0));
  else copy_rows(plan.by_slot, job.nodes + (first / job.every - 1) * nodes, at.u(first), row);
  if (first > 0)
    loop.sweep(plan.by_slot,
               [&](auto low, auto high) { loop.weigh(low, high, at.dual[first], at.q(first)); });
  if (loop.extras.any()) return loop.run(at, first, last, work);
  loop.run(at, first, last - 1, nullptr);
  const int k = last - 1;
  loop.sweep(plan.by_slot, [&](auto low, auto high) {
    loop.smooth(low, high, at.u(k), at.dual[k] ? at.q(k) : nullptr, at.ub(k), nullptr);
  });
}

template <class K, class T>
std::size_t backward(const EmpProblem<T>& problem, const EmpBackward<T>& job, char* scratch,
                     bool weighted) {
  using Loop = typename K::Adjoint;
  if (!job.use_dual) return backward_plain<K>(problem, job, scratch, weighted);
  Arena arena{scratch};
  const Plan<T> plan = make_plan(problem, weighted, arena);
  BackwardMemory<T> memory(problem, job, arena);
  const typename Loop::R shape{problem.runs, problem.width};
  auto* pool = arena.take<typename Loop::Vec>(problem.threads * pool_size(shape));
  if (scratch == nullptr) return arena.used;

  const bool ready = job.is_saved && job.all_nodes;
  const int steps = problem.steps, every = job.every < steps ? job.every : steps;
#pragma omp parallel num_threads(plan.threads)
  {
    Loop loop{plan, pool + omp_get_thread_num() * pool_size(shape),
              Extras<T>{job.grad_weight, job.grad_scale, memory.sums}};
    Gradients<T> state = memory.state;
    start_back(plan, job, state.g, state.scaled_grad);
    for (int first = (steps - 1) / every * every; first >= 0; first -= every) {
      const int last = first + every < steps ? first + every : steps;
      States<T> at = memory.at;
      if (!ready) {  // the segment's buffers begin with its first step
        at.ahead -= first * at.ahead_stride;
        at.signal -= first * at.signal_stride;
        at.pile -= first * at.pile_stride;
        replay_segment(loop, job, at, state.other, memory.work, first, last);
      }
      for (int k = last - 1; k >= first && loop.steps.next(); --k)
        step_back(loop, at, first, k, state, job);
    }
    end_back(plan, job, state.g, false);
  }
  if (job.grad_sizes)
    for (std::int64_t c = 0; c < 4 * problem.runs; ++c) {
      double sum = 0;
      for (int b = 0; b < kMaxBlocks; ++b) sum += memory.sums[b * 4 * problem.runs + c];
      job.grad_sizes[c] = T(sum);
    }
  return arena.used;
}

}  // namespace

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
template <class T>
std::size_t emp_backward(const EmpProblem<T>& problem, const EmpBackward<T>& job, char* scratch) {
  const bool weighted = !all_ones(problem.weight, problem.num_edges);
  return with_kind(problem, [&](auto kind) {
    return backward<decltype(kind)>(problem, job, scratch, weighted);
  });
}

}  // namespace elasticgnn::ISA_NAMESPACE
