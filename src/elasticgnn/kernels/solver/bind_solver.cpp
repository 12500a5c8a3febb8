// Bindings of the solver's loops, and the union of nodes into constant pieces (cold: compiled
// once).
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "solver/problem.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(int advance_float(const Ascent<float>&, int, int, Interrupt&);
                   int advance_double(const Ascent<double>&, int, int, Interrupt&);
                   void project_float(const Pair&, const float*, double*);
                   void project_double(const Pair&, const double*, double*);
                   void advance_ascents(const Ascents&, int, int, Interrupt&);
                   void flow_signal(const Pair&, double*); GapTerms gap_terms(const Pair&);)

namespace elasticgnn {
namespace {

Mesh make_mesh(std::int64_t nodes, std::int64_t edges, Array leave, Array enter, Array entering,
               Array tail, Array head) {
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
                      Array base, Array gain, Array step, Array radius, Array mix, Array signal,
                      Array flow, Array ahead, Array partial) {
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

// What joins pieces and is averaged over them: whole rows of a node, or single entries.
struct Units {
  std::int64_t nodes;
  int per_node, width;
};

Units units_of(std::int64_t nodes, int channels, bool entrywise) {
  return {nodes, entrywise ? channels : 1, entrywise ? 1 : channels};
}

// label_u <- number of u's piece, by first unit. At an optimum a flow strictly inside its ball
// means that its edge carries no difference, so pieces grow over the flows shorter than
// share * lambda1 w.
std::int32_t join_pieces(const Pair& p, double share, std::int32_t* label) {
  const Units units = units_of(p.mesh.nodes, p.channels, p.entrywise);
  const std::int64_t count = units.nodes * units.per_node;
  std::iota(label, label + count, 0);
  for (std::int64_t e = 0; e < p.mesh.edges; ++e) {
    const double limit = share * p.lambda1 * p.weight[e];
    for (int k = 0; k < units.per_node; ++k) {
      const double* flow = p.flow + e * p.channels + k;
      double square = 0;
      for (int j = 0; j < units.width; ++j) square += flow[j] * flow[j];
      if (!(square < limit * limit)) continue;
      const std::int32_t a = root_of(label, p.mesh.tail[e] * units.per_node + k);
      const std::int32_t b = root_of(label, p.mesh.head[e] * units.per_node + k);
      if (a < b) label[b] = a;
      if (b < a) label[a] = b;
    }
  }
  // a root is the smallest unit of its piece, so it is numbered before any other member asks
  std::int32_t pieces = 0;
  for (std::int64_t u = 0; u < count; ++u) label[u] = label[u] == u ? pieces++ : label[label[u]];
  return pieces;
}

// mean_p <- weighted mean of the units of piece p, then spread over them
void average_pieces(const Pair& p, const std::int32_t* label, double* mean, double* total,
                    double* out) {
  const Units units = units_of(p.mesh.nodes, p.channels, p.entrywise);
  const std::int64_t count = units.nodes * units.per_node, w = units.width;
  for (std::int64_t u = 0; u < count; ++u) {
    const double h = p.stiff[u / units.per_node];
    total[label[u]] += h;
    for (int j = 0; j < w; ++j) mean[label[u] * w + j] += h * p.signal[u * w + j];
  }
  for (std::int64_t u = 0; u < count; ++u)
    for (int j = 0; j < w; ++j)
      out[u * w + j] =
          total[label[u]] > 0 ? mean[label[u] * w + j] / total[label[u]] : p.signal[u * w + j];
}

}  // namespace

void bind_solver(nb::module_& module) {
  nb::class_<Mesh>(module, "Mesh")
      .def("__init__", [](Mesh* self, std::int64_t nodes, std::int64_t edges, Array leave,
                          Array enter, Array entering, Array tail, Array head) {
        new (self) Mesh(make_mesh(nodes, edges, leave, enter, entering, tail, head));
      });
  module.def(
      "solver_advance",
      [](bool wide, const Mesh& mesh, int channels, int stride, int threads, bool entrywise,
         Array base, Array gain, Array step, Array radius, Array mix, Array signal, Array flow,
         Array ahead, Array partial, int steps, int age) {
        const auto run = [&](auto kind, auto advance) {
          const auto ascent =
              make_ascent<decltype(kind)>(mesh, channels, stride, threads, entrywise, base, gain,
                                          step, radius, mix, signal, flow, ahead, partial);
          return call_interruptible(advance, ascent, steps, age);
        };
        return wide ? run(double(), ELASTICGNN_PICK(advance_double))
                    : run(float(), ELASTICGNN_PICK(advance_float));
      },
      "Steps of the accelerated dual ascent; returns the steps since its last restart.");
  module.attr("ASCENTS") = ASCENTS;
  nb::class_<Ascents>(module, "Ascents")
      .def("__init__",
           [](Ascents* self, const Mesh& mesh, int channels, int stride, bool entrywise, Array base,
              Array gain, Array step, Array weight, Array mix, Array lambda1, Array signal,
              Array flow, Array ahead, Array age, Array partial, Array sum) {
             new (self) Ascents{mesh,
                                channels,
                                stride,
                                entrywise,
                                at<const float>(base),
                                at<const float>(gain),
                                at<const float>(step),
                                at<const float>(weight),
                                at<const float>(mix),
                                at<const float>(lambda1),
                                at<float>(signal),
                                at<float>(flow),
                                at<float>(ahead),
                                at<std::int32_t>(age),
                                at<double>(partial),
                                at<float>(sum),
                                int(nb::len(sum)) / (channels * ASCENTS)};
           });
  module.def(
      "solver_ascents",
      [](const Ascents& lanes, int steps, int threads) {
        if (threads > lanes.most_threads)  // they would write past their scratch
          throw nb::value_error("threads must be at most those that there is scratch for");
        call_interruptible(ELASTICGNN_PICK(advance_ascents), lanes, steps, threads);
      },
      "Steps of the ascents for several lambda1 side by side; `age` counts on in place.");
  nb::class_<Pair>(module, "Pair")
      .def(
          "__init__",
          [](Pair* self, const Mesh& mesh, int channels, int threads, bool entrywise, bool unscaled,
             double lambda1, double lambda2, Array center, Array stiff, Array weight, Array signal,
             Array flow, Array divergence, Array traffic, Array partial) {
            new (self) Pair{mesh,
                            channels,
                            threads,
                            entrywise,
                            unscaled,
                            lambda1,
                            lambda2,
                            at<const double>(center),
                            at<const double>(stiff),
                            at<const double>(weight),
                            at<const double>(signal),
                            at<const double>(flow),
                            at<double>(divergence),
                            at<double>(traffic),
                            at<double>(partial)};
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
          nb::arg().none(), nb::arg().none(), nb::arg().none());
  module.def(
      "solver_gap",
      [](const Pair& pair) {
        const GapTerms terms = call(ELASTICGNN_PICK(gap_terms), pair);
        return std::make_tuple(terms.objective, terms.gap, terms.rounding, terms.square);
      },
      "Objective, gap, and the gap's rounding in epsilons and squared epsilons.");
  module.def(
      "solver_project",
      [](const Pair& pair, bool wide, Array flow, Array out) {
        double* const to = at<double>(out);
        if (wide) call(ELASTICGNN_PICK(project_double), pair, at<const double>(flow), to);
        else call(ELASTICGNN_PICK(project_float), pair, at<const float>(flow), to);
      },
      "The flow in float64 with every row inside its ball.");
  module.def(
      "solver_signal",
      [](const Pair& pair, Array out) {
        call(ELASTICGNN_PICK(flow_signal), pair, at<double>(out));
      },
      "Divergence and traffic of the pair's flow, and the signal that belongs to it.");
  module.def(
      "solver_pieces",
      [](const Pair& pair, double share, Array label) {
        return call(&join_pieces, pair, share, at<std::int32_t>(label));
      },
      "Numbers of the constant pieces, int32 per row or entry; returns how many there are.");
  module.def(
      "solver_average",
      [](const Pair& pair, Array label, Array mean, Array total, Array out) {
        call(&average_pieces, pair, at<const std::int32_t>(label), at<double>(mean),
             at<double>(total), at<double>(out));
      },
      "The signal averaged over pieces; mean and total are scratch of zeros.");
}

}  // namespace elasticgnn
