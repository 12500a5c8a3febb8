// Python's entrance to the loops of one process's rows (binding/call.h), for
// elasticgnn.distributed.loops and .exchange.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include <array>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "distributed/halo.h"
#include "distributed/packing.h"

#define HALO_SIGNATURE(name, Arrays) \
  template <class T>                 \
  void name(const HaloGraph<T>&, const HaloSizes<T>&, const HaloPass&, const Arrays<T>&);

ELASTICGNN_DECLARE(HALO_SIGNATURE(halo_smooth, HaloForward) HALO_SIGNATURE(halo_ascend, HaloForward)
                       HALO_SIGNATURE(halo_adjoint_step, HaloAdjoint)
                           HALO_SIGNATURE(halo_correct_dual, HaloAdjoint)
                               HALO_SIGNATURE(halo_strengths, HaloStrengths))

namespace nb = nanobind;

namespace elasticgnn {

namespace {

using HaloTables =
    std::array<Address, 8>;  // start, column, edge, lead, other, weight, scale, factor
using HaloNumbers = std::array<double, 8>;     // gamma, beta, smoothing, lambda1, start, slope, and
                                               // the derivatives of the last two by beta
using HaloSpan = std::array<std::int64_t, 5>;  // first row, end, width, threads, shape

template <class T>
HaloGraph<T> make_graph(const HaloTables& tables) {
  return {at<std::int64_t>(tables[0]),
          at<std::int32_t>(tables[1]),
          at<std::int32_t>(tables[2]),
          at<std::int64_t>(tables[3]),
          at<std::int32_t>(tables[4]),
          at<T>(tables[5]),
          at<T>(tables[6]),
          at<T>(tables[7])};
}

template <class T>
HaloSizes<T> make_sizes(const HaloNumbers& numbers, const HaloSpan& pass) {
  return {T(numbers[0]), T(numbers[1]), T(numbers[2]), T(numbers[3]), T(numbers[4]),
          T(numbers[5]), T(numbers[6]), T(numbers[7]), Shape(pass[4])};
}

// One pass of a kernel over rows of the process.
template <class T, class Kernel, class Arrays>
void call_pass(Kernel kernel, const HaloTables& tables, const HaloNumbers& numbers,
               const HaloSpan& pass, const Arrays& arrays) {
  const HaloPass rows{pass[0], pass[1], pass[2], int(pass[3])};
  call(kernel, make_graph<T>(tables), make_sizes<T>(numbers, pass), rows, arrays);
}

// rows: x, q, u, predicted, y
template <class T>
void smooth(const HaloTables& tables, const HaloNumbers& numbers, const HaloSpan& pass,
            const std::array<Address, 5>& rows) {
  HaloForward<T> arrays{};
  arrays.x = at<T>(rows[0]), arrays.q = at<T>(rows[1]), arrays.u = at<T>(rows[2]);
  arrays.predicted = at<T>(rows[3]), arrays.y = at<T>(rows[4]);
  static const auto kernel = ELASTICGNN_PICK(halo_smooth<T>);
  call_pass<T>(kernel, tables, numbers, pass, arrays);
}

// rows: u, predicted, y, dual before and after, q, f
template <class T>
void ascend(const HaloTables& tables, const HaloNumbers& numbers, const HaloSpan& pass,
            const std::array<Address, 7>& rows) {
  HaloForward<T> arrays{};
  arrays.u = at<T>(rows[0]), arrays.predicted = at<T>(rows[1]), arrays.y = at<T>(rows[2]);
  arrays.dual_in = at<T>(rows[3]), arrays.dual_out = at<T>(rows[4]);
  arrays.q_out = at<T>(rows[5]), arrays.f_out = at<T>(rows[6]);
  static const auto kernel = ELASTICGNN_PICK(halo_ascend<T>);
  call_pass<T>(kernel, tables, numbers, pass, arrays);
}

// rows: those of HaloAdjoint in their order, sums last
template <class T>
void adjoint_step(const HaloTables& tables, const HaloNumbers& numbers, const HaloSpan& pass,
                  const std::array<Address, 9>& rows) {
  const HaloAdjoint<T> arrays{at<T>(rows[0]), at<T>(rows[1]),      at<T>(rows[2]),
                              at<T>(rows[3]), at<T>(rows[4]),      at<T>(rows[5]),
                              at<T>(rows[6]), at<double>(rows[7]), at<double>(rows[8])};
  static const auto kernel = ELASTICGNN_PICK(halo_adjoint_step<T>);
  call_pass<T>(kernel, tables, numbers, pass, arrays);
}

// rows: gradient of the dual, b
template <class T>
void correct_dual(const HaloTables& tables, const HaloNumbers& numbers, const HaloSpan& pass,
                  const std::array<Address, 2>& rows) {
  HaloAdjoint<T> arrays{};
  arrays.dual_grad = at<T>(rows[0]), arrays.b = at<T>(rows[1]);
  static const auto kernel = ELASTICGNN_PICK(halo_correct_dual<T>);
  call_pass<T>(kernel, tables, numbers, pass, arrays);
}

// rows and sums: those of HaloStrengths in their order
template <class T>
void strengths(const HaloTables& tables, const HaloNumbers& numbers, const HaloSpan& pass,
               const std::array<Address, 8>& rows, const std::array<Address, 4>& sums) {
  const HaloStrengths<T> arrays{at<T>(rows[0]),      at<T>(rows[1]),      at<T>(rows[2]),
                                at<T>(rows[3]),      at<T>(rows[4]),      at<T>(rows[5]),
                                at<T>(rows[6]),      at<T>(rows[7]),      at<double>(sums[0]),
                                at<double>(sums[1]), at<double>(sums[2]), at<double>(sums[3])};
  static const auto kernel = ELASTICGNN_PICK(halo_strengths<T>);
  call_pass<T>(kernel, tables, numbers, pass, arrays);
}

void pack(Address rows, std::int64_t stride, std::int64_t width, Address index, std::int64_t count,
          Address out) {
  call(pack_rows, ChosenRows{at<char>(rows), stride, width, at<std::int64_t>(index), count},
       at<char>(out));
}

void unpack(Address packed, std::int64_t width, std::int64_t count, Address rows,
            std::int64_t stride) {
  call(unpack_rows, at<char>(packed), ConsecutiveRows{at<char>(rows), stride, width, count});
}

}  // namespace

void bind_distributed(nb::module_& module) {
  module.def("halo_smooth_f32", &smooth<float>);
  module.def("halo_smooth_f64", &smooth<double>);
  module.def("halo_ascend_f32", &ascend<float>);
  module.def("halo_ascend_f64", &ascend<double>);
  module.def("halo_adjoint_step_f32", &adjoint_step<float>);
  module.def("halo_adjoint_step_f64", &adjoint_step<double>);
  module.def("halo_correct_dual_f32", &correct_dual<float>);
  module.def("halo_correct_dual_f64", &correct_dual<double>);
  module.def("halo_strengths_f32", &strengths<float>);
  module.def("halo_strengths_f64", &strengths<double>);
  module.def("halo_pack", &pack, "rows, stride, width, index, count, out; sizes in bytes");
  module.def("halo_unpack", &unpack, "packed, width, count, rows, stride; sizes in bytes");
}

}  // namespace elasticgnn
