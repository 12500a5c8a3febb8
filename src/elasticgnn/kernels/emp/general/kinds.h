// The row type that a problem is solved with.
#pragma once

#include "emp/general/adjoint.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

template <class T, int L, int Count, bool Runs, Shape S>
struct Kind {
  using Forward = ISA_NAMESPACE::Forward<T, L, Count, Runs, S>;
  using Adjoint = ISA_NAMESPACE::Adjoint<T, L, Count, Runs, S>;
};

// Rows with a fixed number of vectors exist where they pay: float32 and the Euclidean norm.
template <class T, Shape S, class Body>
std::size_t with_kind_of_shape(const EmpProblem<T>& problem, const Body& body) {
  constexpr int L = kVectorBytes / int(sizeof(T));
  constexpr bool common = S == Shape::ball && sizeof(T) == 4;
  const std::int64_t d = problem.width;
  if constexpr (common && L >= 16) {
    if (problem.runs == 1 && d <= 4) return body(Kind<T, 4, 1, false, S>{});
    if (problem.runs == 1 && d <= 8) return body(Kind<T, 8, 1, false, S>{});
  }
  if (problem.runs > 1) return body(Kind<T, L, 0, true, S>{});
  if constexpr (common) {
    if (d <= L) return body(Kind<T, L, 1, false, S>{});
    if (d <= 2 * L) return body(Kind<T, L, 2, false, S>{});
    if (d <= 3 * L) return body(Kind<T, L, 3, false, S>{});
    if (d <= 4 * L) return body(Kind<T, L, 4, false, S>{});
  }
  return body(Kind<T, L, 0, false, S>{});
}

template <class T, class Body>
std::size_t with_kind(const EmpProblem<T>& problem, const Body& body) {
  if (problem.shape == Shape::ball) return with_kind_of_shape<T, Shape::ball>(problem, body);
  if (problem.shape == Shape::box) return with_kind_of_shape<T, Shape::box>(problem, body);
  return with_kind_of_shape<T, Shape::fading>(problem, body);
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
