// B of emp/wide/forward.h for rows of one vector: the sums over their lanes, the root and the
// estimate of its inverse cost more than all the rest, and four edges of one tail share them.
#pragma once

#include "emp/wide/sweep.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// The edges first .. last - 1 of a block; active rows are appended to `active`, with marks in
// `mask`, if Save. A null `weight` means that all are 1.
template <class Row, bool Save, class T>
void ascend_one_vector(const EmpProblem<T>& problem, const SweptTables<Row, T>& tables,
                       const T* weight, std::int64_t first, std::int64_t last, DualStep step,
                       std::uint8_t* mask, T*& active) {
  using P = typename Row::P;
  using Vec = typename Row::Vec;
  const Row row = tables.row;
  const std::int64_t stride = row.stride(), last_edge = problem.num_edges - 1,
                     ahead = row.ahead_edges(), width = problem.width;
  const std::int32_t *const tail = tables.blocks.tail, *const head = tables.blocks.head;
  T *const pair = tables.pair, *const dual = tables.dual;
  const bool far = tables.is_far();
  const bool is_first = step.is_first, is_last = step.is_last;
  const Vec beta = P::splat(problem.beta[0]), radius = P::splat(problem.lambda1[0]);
  T* saved = active;
  Vec own, sum;  // Ub and Q of the tail

  const auto climb = [&](std::int64_t e) ELASTICGNN_INLINE_LAMBDA {
    if (far)
      row.prefetch(
          pair + 2 * std::int64_t(head[e + ahead < last_edge ? e + ahead : last_edge]) * stride,
          2 * stride);
    const Vec change = beta * (own - P::load(pair + 2 * std::int64_t(head[e]) * stride));
    return is_first ? change : P::load(dual + e * stride) + change;
  };
  const auto factor_of = [&](Vec squares) ELASTICGNN_INLINE_LAMBDA {
    return P::least(P::splat(1), P::over_root(radius, squares));
  };
  const auto finish = [&](std::int64_t e, Vec z, Vec factor) ELASTICGNN_INLINE_LAMBDA {
    z *= factor;
    if constexpr (Save) {
      mask[e] = factor[0] < 1;
      if (factor[0] < 1) {  // padding behind the row is overwritten by what follows
        P::store(saved, z);
        saved[width] = factor[0];
        saved += width + 1;
      }
    }
    if (!is_last) P::store(dual + e * stride, z);
    if (weight) z *= P::splat(weight[e]);
    sum += z;
    T* const other_sum = pair + (2 * std::int64_t(head[e]) + 1) * stride;
    P::store(other_sum, P::load(other_sum) - z);
  };

  for (std::int64_t e = first; e < last;) {
    std::int64_t end = e + 1;
    while (end < last && tail[end] == tail[e]) ++end;
    T* const here = pair + 2 * std::int64_t(tail[e]) * stride;
    own = P::load(here), sum = P::load(here + stride);
    for (; e + 4 <= end; e += 4) {
      const Vec a = climb(e), b = climb(e + 1), c = climb(e + 2), d = climb(e + 3);
      const Vec factors = factor_of(P::sums_of_four(a * a, b * b, c * c, d * d));
      finish(e, a, P::template of_quarters<0>(factors));
      finish(e + 1, b, P::template of_quarters<1>(factors));
      finish(e + 2, c, P::template of_quarters<2>(factors));
      finish(e + 3, d, P::template of_quarters<3>(factors));
    }
    for (; e < end; ++e) {
      const Vec z = climb(e);
      finish(e, z, factor_of(P::sum_everywhere(z * z)));
    }
    P::store(here + stride, sum);
  }
  active = saved;
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
