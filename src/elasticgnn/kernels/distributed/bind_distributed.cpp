// Binds the loops of one process's rows; arrays come as addresses, 0 for none.
#include <nanobind/nanobind.h>

#include <cstring>

#include "binding/dispatch.h"
#include "binding/supply.h"
#include "distributed/halo.h"

namespace nb = nanobind;

#define HALO_SIGNATURE(name, Arrays)                                                             \
  template <class T>                                                                             \
  void name(const HaloGraph<T>&, const HaloSizes<T>&, const HaloPass&, const Arrays<T>&);        \
  extern template void name(const HaloGraph<float>&, const HaloSizes<float>&, const HaloPass&,   \
                            const Arrays<float>&);                                               \
  extern template void name(const HaloGraph<double>&, const HaloSizes<double>&, const HaloPass&, \
                            const Arrays<double>&);

ELASTICGNN_DECLARE(HALO_SIGNATURE(halo_smooth, HaloForward) HALO_SIGNATURE(halo_ascend, HaloForward)
                       HALO_SIGNATURE(halo_adjoint_step, HaloAdjoint)
                           HALO_SIGNATURE(halo_correct_dual, HaloAdjoint)
                               HALO_SIGNATURE(halo_strengths, HaloStrengths))
ELASTICGNN_DECLARE(void halo_keep_mask(std::uint64_t key, std::uint32_t threshold,
                                       std::int64_t rows, const std::int64_t* first,
                                       const std::int64_t* start, bool* keep, int threads);)

namespace elasticgnn {

namespace {

// The arrays as Python holds them: `numbers` is gamma, beta, smoothing, lambda1, start, slope,
// start_beta, slope_beta.
struct HaloLocal {
  bool is_double;
  Address start, column, edge, lead, other, weight, scale, own_factor;
  double numbers[8];
  Shape shape;

  template <class T>
  HaloGraph<T> graph() const {
    return {at<std::int64_t>(start),
            at<std::int32_t>(column),
            at<std::int32_t>(edge),
            at<std::int64_t>(lead),
            at<std::int32_t>(other),
            at<T>(weight),
            at<T>(scale),
            at<T>(own_factor)};
  }
  template <class T>
  HaloSizes<T> sizes() const {
    return {T(numbers[0]), T(numbers[1]), T(numbers[2]), T(numbers[3]), T(numbers[4]),
            T(numbers[5]), T(numbers[6]), T(numbers[7]), shape};
  }
};

HaloLocal make_local(bool is_double, nb::tuple arrays, nb::tuple numbers, int shape) {
  HaloLocal local;
  local.is_double = is_double;
  Address* fields[] = {&local.start, &local.column, &local.edge,  &local.lead,
                       &local.other, &local.weight, &local.scale, &local.own_factor};
  for (int k = 0; k < 8; ++k) {
    *fields[k] = nb::cast<Address>(arrays[k]);
    local.numbers[k] = nb::cast<double>(numbers[k]);
  }
  local.shape = Shape(shape);
  return local;
}

template <class Call>
void run(const HaloLocal& local, const Call& call) {
  nb::gil_scoped_release release;
  if (local.is_double) call(double{});
  else call(float{});
}

void bind_forward(nb::module_& module) {
  module.def("halo_smooth", [](const HaloLocal& local, HaloPass pass, Address x, Address q,
                               Address u, Address predicted, Address y) {
    run(local, [&](auto number) {
      using T = decltype(number);
      static const auto kernel = ELASTICGNN_PICK(halo_smooth<T>);
      kernel(local.graph<T>(), local.sizes<T>(), pass,
             {at<T>(x), at<T>(q), at<T>(u), at<T>(predicted), at<T>(y), nullptr, nullptr, nullptr,
              nullptr});
    });
  });
  module.def("halo_ascend", [](const HaloLocal& local, HaloPass pass, Address u, Address predicted,
                               Address y, Address dual_in, Address dual_out, Address q, Address f) {
    run(local, [&](auto number) {
      using T = decltype(number);
      static const auto kernel = ELASTICGNN_PICK(halo_ascend<T>);
      kernel(local.graph<T>(), local.sizes<T>(), pass,
             {nullptr, nullptr, at<T>(u), at<T>(predicted), at<T>(y), at<T>(dual_in),
              at<T>(dual_out), at<T>(q), at<T>(f)});
    });
  });
}

void bind_adjoint(nb::module_& module) {
  module.def("halo_adjoint_step",
             [](const HaloLocal& local, HaloPass pass, Address dual_in, Address predicted,
                Address dual_grad, Address g, Address b, Address h, Address total,
                Address edge_lambda, Address edge_beta) {
               run(local, [&](auto number) {
                 using T = decltype(number);
                 static const auto kernel = ELASTICGNN_PICK(halo_adjoint_step<T>);
                 kernel(local.graph<T>(), local.sizes<T>(), pass,
                        {at<T>(dual_in), at<T>(predicted), at<T>(dual_grad), at<T>(g), at<T>(b),
                         at<T>(h), at<T>(total), at<double>(edge_lambda), at<double>(edge_beta)});
               });
             });
  module.def("halo_correct_dual",
             [](const HaloLocal& local, HaloPass pass, Address dual_grad, Address b) {
               run(local, [&](auto number) {
                 using T = decltype(number);
                 static const auto kernel = ELASTICGNN_PICK(halo_correct_dual<T>);
                 kernel(local.graph<T>(), local.sizes<T>(), pass,
                        {nullptr, nullptr, at<T>(dual_grad), nullptr, at<T>(b), nullptr, nullptr,
                         nullptr, nullptr});
               });
             });
  module.def("halo_strengths",
             [](const HaloLocal& local, HaloPass pass, nb::tuple rows, nb::tuple sums) {
               Address r[8], s[4];
               for (int k = 0; k < 8; ++k) r[k] = nb::cast<Address>(rows[k]);
               for (int k = 0; k < 4; ++k) s[k] = nb::cast<Address>(sums[k]);
               run(local, [&](auto number) {
                 using T = decltype(number);
                 static const auto kernel = ELASTICGNN_PICK(halo_strengths<T>);
                 kernel(local.graph<T>(), local.sizes<T>(), pass,
                        {at<T>(r[0]), at<T>(r[1]), at<T>(r[2]), at<T>(r[3]), at<T>(r[4]),
                         at<T>(r[5]), at<T>(r[6]), at<T>(r[7]), at<double>(s[0]), at<double>(s[1]),
                         at<double>(s[2]), at<double>(s[3])});
               });
             });
}

// The first `width` bytes of the rows `index` one after another; rows begin every `stride` bytes.
void pack_rows(Address rows, std::int64_t stride, std::int64_t width, Address index,
               std::int64_t count, Address out) {
  nb::gil_scoped_release release;
  const char* from = at<char>(rows);
  char* to = at<char>(out);
  const auto* chosen = at<std::int64_t>(index);
  for (std::int64_t k = 0; k < count; ++k)
    std::memcpy(to + k * width, from + chosen[k] * stride, width);
}

// The way back, into consecutive rows.
void unpack_rows(Address packed, std::int64_t width, std::int64_t count, Address rows,
                 std::int64_t stride) {
  nb::gil_scoped_release release;
  const char* from = at<char>(packed);
  char* to = at<char>(rows);
  for (std::int64_t k = 0; k < count; ++k) std::memcpy(to + k * stride, from + k * width, width);
}

}  // namespace

void bind_distributed(nb::module_& module) {
  nb::class_<HaloLocal>(module, "HaloLocal");
  module.def("halo_local", &make_local,
             "A process's graph: is_double, addresses of eight arrays, eight numbers, shape.");
  nb::class_<HaloPass>(module, "HaloPass")
      .def(nb::init<std::int64_t, std::int64_t, std::int64_t, int>());
  bind_forward(module);
  bind_adjoint(module);
  module.def("halo_pack", &pack_rows, "rows, stride, width, index, count, out; sizes in bytes");
  module.def("halo_unpack", &unpack_rows, "packed, width, count, rows, stride; sizes in bytes");
  module.def("halo_keep_mask", [](std::uint64_t key, std::uint32_t threshold, std::int64_t rows,
                                  Address first, Address start, Address keep, int threads) {
    static const auto kernel = ELASTICGNN_PICK(halo_keep_mask);
    nb::gil_scoped_release release;
    kernel(key, threshold, rows, at<std::int64_t>(first), at<std::int64_t>(start), at<bool>(keep),
           threads);
  });
}

}  // namespace elasticgnn
