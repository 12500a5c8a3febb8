// Python's entrance to the loops for wide rows (binding/call.h), for elasticgnn.operator.wide.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>

#include <array>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "emp/bind_problem.h"
#include "emp/wide/problem.h"

ELASTICGNN_DECLARE(template <class T>
                   std::size_t wide_forward(const EmpProblem<T>&, const WideForward<T>&, char*);
                   template <class T>
                   std::size_t wide_backward(const EmpProblem<T>&, const WideBackward<T>&, char*);)

namespace nb = nanobind;

namespace elasticgnn {

namespace {

// The number of rounds, where first_tile, first_edge, tail and head lie, and then the weights of
// slots, nodes and edges.
using TileTables = std::pair<std::int64_t, std::array<Address, 7>>;

WideTiles make_tiles(const TileTables& given) {
  const auto& [num_rounds, tables] = given;
  return {num_rounds, at<std::int64_t>(tables[0]), at<std::int64_t>(tables[1]),
          at<std::int32_t>(tables[2]), at<std::int32_t>(tables[3])};
}

template <class T>
WideWeights<T> make_weights(const TileTables& given) {
  const auto& tables = given.second;
  return {at<T>(tables[4]), at<T>(tables[5]), at<T>(tables[6])};
}

// Fills the weights of slots, nodes and edges. Given are `start` and `edge` of the slots, each
// edge's number in the order of the tiles, and the weights of the graph.
template <class T>
void weights(std::array<std::int64_t, 2> counts, std::array<Address, 4> given,
             std::array<Address, 3> made) {
  const T* const weight = at<T>(given[3]);
  const std::int32_t* const order = at<std::int32_t>(given[2]);
  call([&] {
    fill_slot_weights(counts[0], at<std::int64_t>(given[0]), at<std::int32_t>(given[1]), weight,
                      at<T>(made[0]), at<T>(made[1]));
    for (std::int64_t e = 0; e < counts[1]; ++e) at<T>(made[2])[e] = weight[order[e]];
  });
}

// `saved` holds the addresses of the active rows' table and of the masks, or zeros; `more(bytes)`
// gives memory for rows that lives as long as the gradient may be asked for.
template <class T>
void forward(const EmpShape& shape, const EmpTables& tables, const EmpSettings& settings,
             const EmpOptions& options, Address x, Address out, const TileTables& tiles,
             std::array<Address, 2> saved, const nb::callable& more) {
  Supply<T> supply{more, nullptr};
  const ActiveRows<T> active{at<const T*>(saved[0]), at<std::uint8_t>(saved[1]), &Supply<T>::more,
                             &supply};
  const WideForward<T> job{make_tiles(tiles), make_weights<T>(tiles), at<T>(out),
                           saved[0] ? &active : nullptr};
  static const auto kernel = ELASTICGNN_PICK(wide_forward<T>);
  call_steps(kernel, make_problem<T>(shape, tables, settings, options, x), job);
  if (supply.failure) std::rethrow_exception(supply.failure);
}

template <class T>
void backward(const EmpShape& shape, const EmpTables& tables, const EmpSettings& settings,
              const EmpOptions& options, Address grad, Address grad_x, const TileTables& tiles,
              std::array<Address, 2> saved) {
  const ActiveRows<T> active{at<const T*>(saved[0]), at<std::uint8_t>(saved[1]), nullptr, nullptr};
  const WideBackward<T> job{make_tiles(tiles), make_weights<T>(tiles), at<T>(grad), at<T>(grad_x),
                            &active};
  static const auto kernel = ELASTICGNN_PICK(wide_backward<T>);
  call_steps(kernel, make_problem<T>(shape, tables, settings, options, 0), job);
}

}  // namespace

void bind_wide(nb::module_& module) {
  module.def("wide_forward_f32", &forward<float>);
  module.def("wide_forward_f64", &forward<double>);
  module.def("wide_backward_f32", &backward<float>);
  module.def("wide_backward_f64", &backward<double>);
  module.def("wide_weights_f32", &weights<float>);
  module.def("wide_weights_f64", &weights<double>);
  module.attr("wide_chunk_edges") = kChunkEdges;
}

}  // namespace elasticgnn
