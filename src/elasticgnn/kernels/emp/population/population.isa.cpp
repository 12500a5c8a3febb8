// Elastic message passing of many runs without a gradient: float32 rows of up to eight channels, a
// ball or a box. A vector holds one channel of sixteen runs (AVX2: eight, baseline: four), so no
// sum crosses lanes and one reciprocal root serves them all. Each thread takes such groups of its
// own. Where there are fewer groups than threads, groups of eight may be enough for all of them; if
// not, they share the nodes of one.
#include "emp/population/sweeps.h"
#include "simd/transpose.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

constexpr int kLanes = kVectorBytes / int(sizeof(float));

inline std::int64_t count_groups(const EmpProblem<float>& all, int lanes) {
  return (all.runs + lanes - 1) / lanes;
}

// The problem of the runs from `first` on. Lanes behind the last run repeat it.
template <int Lanes>
struct RunGroup {
  EmpProblem<float> problem;
  std::int64_t first, lanes;
  float sizes[4][Lanes];

  RunGroup(const EmpProblem<float>& all, std::int64_t first_, int threads)
      : problem(all), first(first_) {
    lanes = all.runs - first < Lanes ? all.runs - first : Lanes;
    const float* const from[4] = {all.lambda1, all.gamma, all.beta, all.smoothing};
    for (int which = 0; which < 4; ++which)
      for (int lane = 0; lane < Lanes; ++lane) sizes[which][lane] = from[which][run(lane)];
    problem.lambda1 = sizes[0], problem.gamma = sizes[1], problem.beta = sizes[2],
    problem.smoothing = sizes[3];
    problem.runs = Lanes, problem.threads = threads;
  }
  std::int64_t run(std::int64_t lane) const { return first + (lane < lanes ? lane : lanes - 1); }
};

// The caller's rows of a node, (runs, width), with the runs in the lanes, and back.
template <int Width, int Lanes>
ELASTICGNN_INLINE void to_lanes(const RunGroup<Lanes>& group, const float* __restrict rows,
                                float* __restrict lanes) {
  if (group.lanes == Lanes && rows_to_lanes<Lanes, Width>(rows, lanes)) return;
  for (int lane = 0; lane < Lanes; ++lane)
    for (int c = 0; c < Width; ++c)
      lanes[c * Lanes + lane] = rows[(group.run(lane) - group.first) * Width + c];
}

template <int Width, int Lanes>
ELASTICGNN_INLINE void from_lanes(const RunGroup<Lanes>& group, const float* __restrict lanes,
                                  float* __restrict rows) {
  if (group.lanes == Lanes && lanes_to_rows<Lanes, Width>(lanes, rows)) return;
  for (std::int64_t lane = 0; lane < group.lanes; ++lane)
    for (int c = 0; c < Width; ++c) rows[lane * Width + c] = lanes[c * Lanes + lane];
}

// Bytes that the group needs when `scratch` is null; else runs it.
template <int Width, Shape S, int Lanes>
std::size_t run_group(RunGroup<Lanes>& group, const EmpProblem<float>& all, bool weighted,
                      const EmpPopulation& job, char* scratch) {
  using Sweeps = PopulationSweeps<Lanes, Width, S>;
  using P = typename Sweeps::P;
  constexpr std::int64_t kRow = Sweeps::kRow;
  Arena arena{scratch};
  EmpProblem<float>& problem = group.problem;
  const Plan<float> plan = make_plan(problem, weighted, arena);
  const std::int64_t nodes = problem.num_nodes * kRow;
  const auto take = [&](std::int64_t count, bool wanted) {
    return wanted ? arena.take<float>(count) : nullptr;
  };
  float* const begin = arena.take<float>(nodes);
  const Sweeps all_sweeps{plan,
                          begin,
                          arena.take<float>(nodes),
                          arena.take<float>(nodes),
                          take(nodes, job.use_dual),
                          take(problem.num_edges * kRow, job.use_dual),
                          take(nodes, job.use_dual && plan.threads > 1)};
  if (scratch == nullptr) return arena.used;

  const auto place = [&](std::int64_t i) {
    return (job.order[i] * all.runs + group.first) * Width;
  };  // the caller's
#pragma omp parallel num_threads(plan.threads)
  {
    Sweeps sweeps = all_sweeps;
    alignas(64) float transposed[kRow];
    const auto beta = P::load(problem.beta);
    for_blocks(plan.by_slot, [&](int, std::int64_t low, std::int64_t high) {
      for (std::int64_t i = low; i < high; ++i) {
        if (i + kAheadNodes < high) prefetch_row(all.x + place(i + kAheadNodes), kRow);
        to_lanes<Width>(group, all.x + place(i), transposed);
        for (int k = 0; k < kRow; k += Lanes)
          P::store(begin + i * kRow + k, beta * problem.scale[i] * P::load(transposed + k));
      }
    });
#pragma omp barrier
    sweeps.run();
    for_blocks(plan.by_slot, [&](int, std::int64_t low, std::int64_t high) {
      for (std::int64_t i = low; i < high; ++i) {
        const auto back = 1 / (beta * problem.scale[i]);
        for (int k = 0; k < kRow; k += Lanes)
          P::store(transposed + k, P::load(sweeps.v + i * kRow + k) * back);
        from_lanes<Width>(group, transposed, job.out + place(i));
      }
    });
  }
  return arena.used;
}

template <int Lanes, int Width, Shape S>
std::size_t run_groups(const EmpProblem<float>& all, const EmpPopulation& job, char* scratch) {
  const bool weighted = !all_ones(all.weight, all.num_edges);
  const std::int64_t groups = count_groups(all, Lanes);
  const bool apart = groups >= all.threads;
  const int takers = apart ? all.threads : 1, each = apart ? 1 : all.threads;
  RunGroup<Lanes> first(all, 0, each);
  const std::size_t bytes = run_group<Width, S>(first, all, weighted, job, nullptr);
  if (scratch == nullptr) return bytes * takers;
#pragma omp parallel num_threads(takers)
  for (std::int64_t g = omp_get_thread_num(); g < groups; g += takers) {
    RunGroup<Lanes> group(all, g * Lanes, each);
    run_group<Width, S>(group, all, weighted, job, scratch + bytes * omp_get_thread_num());
  }
  return bytes * takers;
}

template <Shape S, int Width = kPopulationWidth>
std::size_t with_width(const EmpProblem<float>& all, const EmpPopulation& job, char* scratch) {
  if constexpr (Width > 1)
    if (all.width < Width) return with_width<S, Width - 1>(all, job, scratch);
  if constexpr (kLanes == 16) {
    const bool enough_of_eight = count_groups(all, 8) >= all.threads;
    if (count_groups(all, 16) < all.threads && enough_of_eight)
      return run_groups<8, Width, S>(all, job, scratch);
  }
  return run_groups<kLanes, Width, S>(all, job, scratch);
}

}  // namespace

// Runs side by side.
int emp_population_lanes() { return kLanes; }

// Bytes of scratch that the call needs when `scratch` is null; else runs it.
std::size_t emp_population(const EmpProblem<float>& all, const EmpPopulation& job, char* scratch) {
  return all.shape == Shape::box ? with_width<Shape::box>(all, job, scratch)
                                 : with_width<Shape::ball>(all, job, scratch);
}

}  // namespace elasticgnn::ISA_NAMESPACE
