#include <nanobind/nanobind.h>

#include "binding/call.h"
#include "binding/dispatch.h"
#include "perceptrons/problem.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void perceptrons_forward(const Perceptrons& p, const PerceptronForward& f);
                   void perceptrons_step(const Perceptrons& p, const Backward& b, const Adam& a);
                   void score(const Scores& s);)

namespace elasticgnn {
namespace {

Perceptrons timed(Perceptrons p, std::uint64_t epoch, int threads) {
  p.epoch = epoch;
  p.threads = threads;
  return p;
}

void bind_classes(nb::module_& module) {
  nb::class_<Convolution>(module, "Convolution", "Arrays by address; their owner keeps them alive.")
      .def("__init__",
           [](Convolution* self, const SparseRows& matrix, Address mixed, Address linear) {
             new (self) Convolution{matrix, at<float>(mixed), at<float>(linear)};
           });
  nb::class_<Perceptrons>(module, "Perceptrons", "Arrays by address; their owner keeps them alive.")
      .def("__init__",
           [](Perceptrons* self, std::int64_t runs, std::int64_t features, std::int64_t hidden,
              std::int64_t classes, std::int64_t stride, std::int64_t real_hidden, Address weights,
              Address seed, Address threshold, Address scale, const Convolution& convolution) {
             new (self) Perceptrons{runs,
                                    features,
                                    hidden,
                                    classes,
                                    stride,
                                    real_hidden,
                                    at<float>(weights),
                                    at<const std::uint64_t>(seed),
                                    at<const std::uint32_t>(threshold),
                                    at<const float>(scale),
                                    convolution,
                                    0,
                                    1};
           });
  nb::class_<Adam>(module, "Adam", "Arrays by address; their owner keeps them alive.")
      .def("__init__", [](Adam* self, Address first, Address second, Address rate, Address decay) {
        new (self) Adam{at<float>(first), at<float>(second), at<const float>(rate),
                        at<const float>(decay), 1};
      });
}

}  // namespace

void bind_perceptrons(nb::module_& module) {
  bind_classes(module);
  module.def(
      "perceptrons_forward",
      [](const Perceptrons& p, const SparseRows& rows, Address activation, Address logits,
         std::uint64_t epoch, int threads) {
        static const auto kernel = ELASTICGNN_PICK(perceptrons_forward);
        call(kernel, timed(p, epoch, threads),
             PerceptronForward{rows, at<float>(activation), at<float>(logits)});
      },
      "logits <- every run's; with activations to be saved, under dropout.");
  module.def(
      "perceptrons_step",
      [](const Perceptrons& p, const SparseRows& columns, Address activation, Address grad,
         std::int64_t nodes, Adam adam, std::uint64_t epoch, int threads) {
        static const auto kernel = ELASTICGNN_PICK(perceptrons_step);
        adam.step = std::int64_t(epoch) + 1;
        call(kernel, timed(p, epoch, threads),
             Backward{columns, at<float>(activation), at<const float>(grad), nodes}, adam);
      },
      "One step of Adam for every run, from the gradient of its logits.");
  module.def(
      "score",
      [](std::int64_t runs, std::int64_t classes, Address output, Address label, Address start,
         Address node, Address grad, Address loss, Address accuracy, int threads) {
        static const auto kernel = ELASTICGNN_PICK(score);
        call(kernel, Scores{runs, classes, at<const float>(output), at<const std::int64_t>(label),
                            at<const std::int64_t>(start), at<const std::int64_t>(node),
                            at<float>(grad), at<double>(loss), at<double>(accuracy), threads});
      },
      "Mean loss, its gradient and accuracy on each run's nodes; an address of 0 skips one.");
}

}  // namespace elasticgnn
