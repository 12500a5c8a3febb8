// Rows in registers, the step sizes that go with them, and the map of the dual step with its
// Jacobian.
#pragma once

#include <type_traits>

#include "emp/general/plan.h"

namespace elasticgnn::ISA_NAMESPACE {

// Rows of `count` vectors of L lanes. Runs = false: the lanes are the channels of one run.
// Runs = true: the lanes are runs, every channel is one vector, and no sum crosses lanes;
// `select` chooses the group of L runs. Count = 0 leaves the number of vectors open.
template <class T, int L, int Count, bool Runs>
struct Rows {
  using P = Pack<T, L>;
  using Vec = typename P::Vec;
  using Number = std::conditional_t<Runs, Vec, T>;  // one per run
  static constexpr bool kOpen = Count == 0;

  std::int64_t runs, width;
  int open_count, tail;
  std::int64_t offset = 0;

  Rows(std::int64_t runs_, std::int64_t width_) : runs(runs_), width(width_) {
    open_count = int(Runs ? width : (width + L - 1) / L);
    tail = int(Runs ? L : width - std::int64_t(open_count - 1) * L);
  }
  ELASTICGNN_INLINE int count() const { return kOpen ? open_count : Count; }
  ELASTICGNN_INLINE std::int64_t stride() const { return runs * width; }
  int groups() const { return Runs ? int((runs + L - 1) / L) : 1; }
  void select(int group) {
    if constexpr (Runs) {
      offset = std::int64_t(group) * L;
      tail = int(runs - offset < L ? runs - offset : L);
    }
  }
  ELASTICGNN_INLINE Vec load(const T* row, int v) const {
    if constexpr (Runs) return P::load(row + offset + v * runs, tail);
    return v + 1 < count() ? P::load(row + v * L) : P::load(row + v * L, tail);
  }
  ELASTICGNN_INLINE void store(T* row, int v, Vec value) const {
    if constexpr (Runs) {
      P::store(row + offset + v * runs, value, tail);
    } else if (v + 1 < count()) {
      P::store(row + v * L, value);
    } else {
      P::store(row + v * L, value, tail);
    }
  }
  ELASTICGNN_INLINE Number fold(Vec value) const {
    if constexpr (Runs) return value;
    else return P::sum(value);
  }
  ELASTICGNN_INLINE Vec fold_everywhere(Vec value) const {
    if constexpr (Runs) return value;
    else return P::sum_everywhere(value);
  }
  ELASTICGNN_INLINE Vec spread(Number value) const {
    if constexpr (Runs) return value;
    else return P::splat(value);
  }
  ELASTICGNN_INLINE Number per_run(const T* values) const {
    if constexpr (Runs) return P::load(values + offset, tail);
    else return values[0];
  }
};

// A few vectors of a row: an array in registers, or memory when their number is open.
template <class R, int Count = R::kOpen ? 0 : -1>
struct RowBuffer;

template <class T, int L, int Count, bool Runs>
struct RowBuffer<Rows<T, L, Count, Runs>, -1> {
  typename Pack<T, L>::Vec data[Count];
  explicit RowBuffer(typename Pack<T, L>::Vec*, int) {}
  ELASTICGNN_INLINE auto& operator[](int v) { return data[v]; }
};

template <class T, int L, int Count, bool Runs>
struct RowBuffer<Rows<T, L, Count, Runs>, 0> {
  typename Pack<T, L>::Vec* data;
  RowBuffer(typename Pack<T, L>::Vec* pool, int which) : data(pool + which) {}
  ELASTICGNN_INLINE auto& operator[](int v) { return data[v * kBuffers]; }
  static constexpr int kBuffers = 8;
};

// One thread's memory for the buffers of open rows, in vectors.
template <class R>
std::int64_t pool_size(const R& rows) {
  return R::kOpen ? std::int64_t(rows.count()) * 8 : 1;
}

template <class N>
ELASTICGNN_INLINE N larger(N a, N b) {
  return a > b ? a : b;
}
template <class N>
ELASTICGNN_INLINE N smaller(N a, N b) {
  return a < b ? a : b;
}

// Step sizes of the selected runs. Outside the ball a row of length r gets the length
// limit(r) = min(lambda1, max(0, start * lambda1 - slope * r)): start = 1, slope = 0 unless the
// projection fades.
template <class R>
struct Sizes {
  using N = typename R::Number;
  typename R::Vec gamma, beta, smoothing;
  N lambda1, tiny, start, slope, start_beta, slope_beta;

  template <class T>
  Sizes(const R& rows, const EmpProblem<T>& problem) {
    gamma = rows.spread(rows.per_run(problem.gamma));
    const N step = rows.per_run(problem.beta);
    const N b = step > N{} ? step : N{} + T(1e6);  // lanes behind the last run must not divide by 0
    beta = rows.spread(b);
    smoothing = rows.spread(rows.per_run(problem.smoothing));
    lambda1 = rows.per_run(problem.lambda1);
    tiny = N{} + T(1e-37);
    start = N{} + T(1), slope = start_beta = slope_beta = N{};
    if (problem.shape == Shape::fading) {
      start = rows.per_run(problem.fade_start), slope = rows.per_run(problem.fade_slope);
      start_beta = rows.per_run(problem.fade_start_beta),
      slope_beta = rows.per_run(problem.fade_slope_beta);
    }
  }
};

template <Shape S, class R>
struct Projection {
  using N = typename R::Number;
  using Vec = typename R::Vec;

  static ELASTICGNN_INLINE N limit(const Sizes<R>& sizes, N length) {
    if constexpr (S != Shape::fading) return sizes.lambda1;
    return smaller(sizes.lambda1, larger(N{}, sizes.start * sizes.lambda1 - sizes.slope * length));
  }
  // limit / max(length, limit) is exactly 1 inside, and NaN for a row that holds a NaN: `larger`
  // gives its second argument where one cannot be compared.
  static ELASTICGNN_INLINE N factor(const Sizes<R>& sizes, N length) {
    const N most = limit(sizes, length);
    return most / larger(larger(most, sizes.tiny), length);
  }
  static ELASTICGNN_INLINE N length(const R& rows, Vec squares) {
    const N total = rows.fold(squares);
    if constexpr (std::is_same_v<N, Vec>) return R::P::root(total);
    else return square_root(total);
  }
  // Factor of the projection from the sum of the squares, which is in all lanes.
  static ELASTICGNN_INLINE Vec shrink_by(const Sizes<R>& sizes, const R& rows, Vec square) {
    if constexpr (S == Shape::ball && R::P::kFastRoot) {
      // lambda1 / |z| without a division: an estimate to 14 bits and one step of Newton
      return R::P::least(R::P::splat(1), R::P::over_root(rows.spread(sizes.lambda1), square));
    } else {
      return rows.spread(factor(sizes, square_root(square[0])));
    }
  }
  // The same from the squares of a row's lanes.
  static ELASTICGNN_INLINE Vec shrink(const Sizes<R>& sizes, const R& rows, Vec squares) {
    if constexpr (S == Shape::ball && R::P::kFastRoot) {
      return shrink_by(sizes, rows, rows.fold_everywhere(squares));
    } else {
      return rows.spread(factor(sizes, length(rows, squares)));
    }
  }
  static ELASTICGNN_INLINE Vec clamp(const Sizes<R>& sizes, const R& rows, Vec value) {
    const Vec radius = rows.spread(sizes.lambda1);
    return R::P::least(radius, R::P::most(-radius, value));
  }
};

}  // namespace elasticgnn::ISA_NAMESPACE
