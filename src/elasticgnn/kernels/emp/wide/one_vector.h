// B of emp/wide/forward.h for rows of one vector: the sums over their lanes, the root and the
// estimate of its inverse cost more than all the rest, and four edges of one tail share them.
#pragma once

#include "emp/wide/sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

constexpr std::int64_t kDualAhead = 32;  // edges: the stream of short rows is prefetched

// The edges first .. last - 1 of a tile; active rows are appended to `active`, with marks in
// `mask`, if Save. A null `weight` means that all are 1. Gives the number of active rows of a lazy
// step.
template <class Row, bool Save, bool Lazy, class T>
std::int64_t ascend_one_vector(const EmpProblem<T>& problem, const SweptTables<Row, T>& tables,
                               const T* weight, std::int64_t first, std::int64_t last,
                               DualStep step, std::uint8_t* mask, T*& active) {
  using P = typename Row::P;
  using Vec = typename Row::Vec;
  const Row row = tables.row;
  const std::int64_t stride = row.stride(), last_edge = problem.num_edges - 1,
                     ahead = row.ahead_edges(), width = problem.width;
  const std::int32_t *const tail = tables.tiles.tail, *const head = tables.tiles.head;
  T *const pair = tables.pair, *const dual = tables.dual;
  std::uint8_t* const changed = tables.changed;
  const bool far = tables.is_far(), stores_all = step.stores_all(), reads_all = step.reads_all();
  const Vec one = P::splat(1), radius = P::splat(problem.lambda1[0]),
            inside = P::splat(lazy_bound(problem.lambda1[0]));
  std::int64_t count = 0;
  T* saved = active;
  Vec own, sum;  // V and Q of the tail

  const auto change = [&](std::int64_t e) ELASTICGNN_INLINE_LAMBDA {
    return own - P::load(pair + 2 * std::int64_t(head[e]) * stride);
  };
  const auto climb = [&](std::int64_t e) ELASTICGNN_INLINE_LAMBDA {
    if (far)
      row.prefetch(
          pair + 2 * std::int64_t(head[e + ahead < last_edge ? e + ahead : last_edge]) * stride,
          2 * stride);
    if (reads_all) __builtin_prefetch(dual + (e + kDualAhead) * stride);
    return step.reads(changed, e) ? P::load(dual + e * stride) + change(e) : change(e);
  };
  const auto project = [&](std::int64_t e, Vec z, Vec factor, bool is_active)
                           ELASTICGNN_INLINE_LAMBDA {
                             z *= factor;
                             if constexpr (Save) {
                               mask[e] = is_active;
                               if (is_active) {  // padding behind the row is overwritten
                                 P::store(saved, z);
                                 saved[width] = factor[0];
                                 saved += width + 1;
                               }
                             }
                             if (stores_all) P::store(dual + e * stride, z);
                             if (Lazy && is_active) {
                               changed[e] = 1, ++count;
                               P::store(dual + e * stride, z - change(e));
                             }
                             return z;
                           };
  const auto add = [&](std::int64_t e, Vec z) ELASTICGNN_INLINE_LAMBDA {
    if (weight) z *= P::splat(weight[e]);
    sum += z;
    T* const other_sum = pair + (2 * std::int64_t(head[e]) + 1) * stride;
    P::store(other_sum, P::load(other_sum) - z);
  };
  const auto is_inside = [&](Vec squares) ELASTICGNN_INLINE_LAMBDA {
    return Lazy && P::below(squares, inside) == P::below(Vec{}, one);  // all lanes, and no NaN
  };

  for (std::int64_t e = first; e < last;) {
    std::int64_t end = e + 1;
    while (end < last && tail[end] == tail[e]) ++end;
    T* const here = pair + 2 * std::int64_t(tail[e]) * stride;
    if (far) row.prefetch(here + 2 * kTailsAhead * stride, 2 * stride);
    own = P::load(here), sum = P::load(here + stride);
    for (; e + 4 <= end; e += 4) {
      Vec a = climb(e), b = climb(e + 1), c = climb(e + 2), d = climb(e + 3);
      const Vec squares = P::sums_of_four(a * a, b * b, c * c, d * d);
      if (is_inside(squares)) {
        if constexpr (Save) std::memset(mask + e, 0, 4);
      } else {
        const Vec factors = P::least(one, P::over_root(radius, squares));
        const unsigned moved = P::below(factors, one);
        a = project(e, a, P::template of_quarters<0>(factors), moved & 1);
        b = project(e + 1, b, P::template of_quarters<1>(factors), moved & 2);
        c = project(e + 2, c, P::template of_quarters<2>(factors), moved & 4);
        d = project(e + 3, d, P::template of_quarters<3>(factors), moved & 8);
      }
      add(e, a), add(e + 1, b), add(e + 2, c), add(e + 3, d);
    }
    if (Lazy && e < end) {  // up to three are left, most often all inside
      const std::int64_t rest = end - e;
      const Vec a = climb(e), b = rest > 1 ? climb(e + 1) : Vec{},
                c = rest > 2 ? climb(e + 2) : Vec{};
      if (is_inside(P::sums_of_four(a * a, b * b, c * c, Vec{}))) {
        if constexpr (Save) std::memset(mask + e, 0, std::size_t(rest));
        add(e, a);
        if (rest > 1) add(e + 1, b);
        if (rest > 2) add(e + 2, c);
        e = end;
      }
    }
    for (; e < end; ++e) {
      const Vec z = climb(e),
                factor = P::least(one, P::over_root(radius, P::sum_everywhere(z * z)));
      add(e, project(e, z, factor, P::below(factor, one) & 1));
    }
    P::store(here + stride, sum);
  }
  active = saved;
  return count;
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
