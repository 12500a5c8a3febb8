// Bindings of the solver's loops, and the union of nodes into constant pieces (cold: compiled once).
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "dispatch.h"
#include "solver.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(int advance_float(const Ascent<float>&, int, int);
                   int advance_double(const Ascent<double>&, int, int);
                   void keep_float(const Pair&, const float*, double*);
                   void keep_double(const Pair&, const double*, double*);
                   void flow_signal(const Pair&, double*); GapTerms gap_terms(const Pair&);)

namespace elasticgnn {
namespace {

using Address = std::uintptr_t;

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

Mesh make_mesh(std::int64_t nodes, std::int64_t edges, Address leave, Address enter,
               Address entering, Address tail, Address head) {
  return {nodes,
          edges,
          at<const std::int32_t>(leave),
          at<const std::int32_t>(enter),
          at<const std::int32_t>(entering),
          at<const std::int32_t>(tail),
          at<const std::int32_t>(head)};
}

template <class T>
Ascent<T> make_ascent(const Mesh& mesh, int channels, int stride, int threads, bool entrywise,
                      Address base, Address gain, Address step, Address radius, Address mix,
                      Address signal, Address flow, Address ahead, Address partial) {
  return {mesh,
          channels,
          stride,
          threads,
          entrywise,
          at<const T>(base),
          at<const T>(gain),
          at<const T>(step),
          at<const T>(radius),
          at<const T>(mix),
          at<T>(signal),
          at<T>(flow),
          at<T>(ahead),
          at<double>(partial)};
}

std::int32_t root_of(std::int32_t* parent, std::int32_t i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

// label_i <- number of i's piece, by first node; pieces grow over edges with |U_i - U_j| <= reach
std::int32_t join_pieces(const Mesh& mesh, int d, const double* signal, double reach,
                         std::int32_t* label) {
  std::iota(label, label + mesh.nodes, 0);
  for (std::int64_t e = 0; e < mesh.edges; ++e) {
    const double* tail = signal + std::int64_t(mesh.tail[e]) * d;
    const double* head = signal + std::int64_t(mesh.head[e]) * d;
    double square = 0;
    for (int k = 0; k < d; ++k) square += (tail[k] - head[k]) * (tail[k] - head[k]);
    if (!(square <= reach * reach)) continue;
    const std::int32_t a = root_of(label, mesh.tail[e]), b = root_of(label, mesh.head[e]);
    if (a < b) label[b] = a;
    if (b < a) label[a] = b;
  }
  // a root is the smallest node of its piece, so it is numbered before any other member asks
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < mesh.nodes; ++i)
    label[i] = label[i] == i ? count++ : label[label[i]];
  return count;
}

// mean_p <- weighted mean of the rows of piece p, then spread over its nodes
void average_pieces(std::int64_t nodes, int d, const std::int32_t* label, const double* stiff,
                    const double* signal, double* mean, double* total, double* out) {
  for (std::int64_t i = 0; i < nodes; ++i) {
    const std::int64_t p = label[i];
    total[p] += stiff[i];
    for (int k = 0; k < d; ++k) mean[p * d + k] += stiff[i] * signal[i * d + k];
  }
  for (std::int64_t i = 0; i < nodes; ++i) {
    const std::int64_t p = label[i];
    for (int k = 0; k < d; ++k)
      out[i * d + k] = total[p] > 0 ? mean[p * d + k] / total[p] : signal[i * d + k];
  }
}

}  // namespace

void bind_solver(nb::module_& module) {
  nb::class_<Mesh>(module, "Mesh").def("__init__", [](Mesh* self, std::int64_t nodes,
                                                      std::int64_t edges, Address leave,
                                                      Address enter, Address entering,
                                                      Address tail, Address head) {
    new (self) Mesh(make_mesh(nodes, edges, leave, enter, entering, tail, head));
  });
  module.def(
      "solver_advance",
      [](bool wide, const Mesh& mesh, int channels, int stride, int threads, bool entrywise,
         Address base, Address gain, Address step, Address radius, Address mix, Address signal,
         Address flow, Address ahead, Address partial, int steps, int age) {
        nb::gil_scoped_release release;
        if (wide)
          return ELASTICGNN_PICK(advance_double)(
              make_ascent<double>(mesh, channels, stride, threads, entrywise, base, gain, step,
                                  radius, mix, signal, flow, ahead, partial),
              steps, age);
        return ELASTICGNN_PICK(advance_float)(
            make_ascent<float>(mesh, channels, stride, threads, entrywise, base, gain, step,
                               radius, mix, signal, flow, ahead, partial),
            steps, age);
      },
      "Steps of the accelerated dual ascent; returns the steps since its last restart.");
  nb::class_<Pair>(module, "Pair").def(
      "__init__", [](Pair* self, const Mesh& mesh, int channels, int threads, bool entrywise,
                     double lambda1, double lambda2, Address center, Address stiff, Address weight,
                     Address signal, Address flow, Address divergence, Address partial) {
        new (self) Pair{mesh,
                        channels,
                        threads,
                        entrywise,
                        lambda1,
                        lambda2,
                        at<const double>(center),
                        at<const double>(stiff),
                        at<const double>(weight),
                        at<const double>(signal),
                        at<const double>(flow),
                        at<double>(divergence),
                        at<double>(partial)};
      });
  module.def(
      "solver_gap",
      [](const Pair& pair) {
        nb::gil_scoped_release release;
        const GapTerms terms = ELASTICGNN_PICK(gap_terms)(pair);
        return std::make_tuple(terms.objective, terms.gap, terms.rounding, terms.square);
      },
      "Objective, gap, and the gap's rounding in epsilons and squared epsilons.");
  module.def(
      "solver_keep",
      [](const Pair& pair, bool wide, Address flow, Address out) {
        nb::gil_scoped_release release;
        if (wide)
          ELASTICGNN_PICK(keep_double)(pair, at<const double>(flow), at<double>(out));
        else
          ELASTICGNN_PICK(keep_float)(pair, at<const float>(flow), at<double>(out));
      },
      "The flow in float64 with every row inside its ball.");
  module.def(
      "solver_signal",
      [](const Pair& pair, Address out) {
        nb::gil_scoped_release release;
        ELASTICGNN_PICK(flow_signal)(pair, at<double>(out));
      },
      "The signal that belongs to the pair's flow.");
  module.def(
      "solver_pieces",
      [](const Mesh& mesh, int channels, Address signal, double reach, Address label) {
        nb::gil_scoped_release release;
        return join_pieces(mesh, channels, at<const double>(signal), reach,
                           at<std::int32_t>(label));
      },
      "Numbers of the constant pieces (n,) int32; returns how many there are.");
  module.def(
      "solver_average",
      [](std::int64_t nodes, int channels, Address label, Address stiff, Address signal,
         Address mean, Address total, Address out) {
        nb::gil_scoped_release release;
        average_pieces(nodes, channels, at<const std::int32_t>(label), at<const double>(stiff),
                       at<const double>(signal), at<double>(mean), at<double>(total),
                       at<double>(out));
      },
      "Rows averaged over pieces; mean and total are scratch of zeros.");
}

}  // namespace elasticgnn
