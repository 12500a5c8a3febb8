// Losses, their gradients and accuracies of training/scores.py.
#include <cmath>

#include "simd/sixteen.h"
#include "perceptrons/problem.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

// log(sum of exp); share becomes the softmax.
double log_sum_exp(const float* x, std::int64_t count, float largest, float* share) {
  float total = 0;
  for (std::int64_t c = 0; c < count; ++c) total += share[c] = std::exp(x[c] - largest);
  for (std::int64_t c = 0; c < count; ++c) share[c] /= total;
  return double(largest) + std::log(double(total));
}

void score_run(const Scores& s, std::int64_t run, float* share) {
  const std::int64_t begin = s.start[run], end = s.start[run + 1];
  const float each = end > begin ? 1.0f / float(end - begin) : 0.0f;
  double loss = 0, correct = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t at = (s.node[k] * s.runs + run) * s.classes, label = s.label[s.node[k]];
    const float* x = s.output + at;
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < s.classes; ++c) best = x[c] > x[best] ? c : best;
    correct += best == label;
    if (!s.loss) continue;
    loss += log_sum_exp(x, s.classes, x[best], share) - double(x[label]);
    if (!s.grad) continue;
    for (std::int64_t c = 0; c < s.classes; ++c)
      s.grad[at + c] = each * (share[c] - float(c == label));
  }
  if (s.loss) s.loss[run] = loss / double(end - begin);
  s.accuracy[run] = correct / double(end - begin);
}

}  // namespace

void score(const Scores& s) {
#pragma omp parallel num_threads(s.threads)
  {
    const Zeroed<float> share(s.classes);
#pragma omp for schedule(static)
    for (std::int64_t run = 0; run < s.runs; ++run) score_run(s, run, share.data);
  }
}

}  // namespace elasticgnn::ISA_NAMESPACE
