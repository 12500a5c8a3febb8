#include <nanobind/nanobind.h>

#include "attention/problem.h"
#include "binding/call.h"
#include "binding/dispatch.h"

namespace nb = nanobind;

ELASTICGNN_DECLARE(void attention_forward(const AttentionForward& p);
                   void attention_backward(const AttentionBackward& p);)

namespace elasticgnn {
namespace {

const float* in(Address address) { return at<const float>(address); }
float* out(Address address) { return at<float>(address); }

}  // namespace

void bind_attention(nb::module_& module) {
  module.def(
      "attention_forward",
      [](const SparseRows& graph, std::int64_t heads, std::int64_t channels, Address rows,
         Address target, Address source, Address factor, Address result, Address most,
         Address inverse, Address above, Address packed_rows, Address packed_out,
         Address packed_above, Address scratch, int threads) {
        static const auto kernel = ELASTICGNN_PICK(attention_forward);
        call(kernel, AttentionForward{graph,
                                      {heads, channels},
                                      in(rows),
                                      in(target),
                                      in(source),
                                      in(factor),
                                      out(result),
                                      out(most),
                                      out(inverse),
                                      out(above),
                                      out(packed_rows),
                                      out(packed_out),
                                      out(packed_above),
                                      out(scratch),
                                      threads});
      },
      "result <- each node's neighbours' rows, averaged by attention.");
  module.def(
      "attention_backward",
      [](const SparseRows& graph, std::int64_t heads, std::int64_t channels, Address grad,
         Address target, Address source, Address factor, Address most, Address inverse,
         Address above, Address packed_rows, Address packed_out, Address packed_above,
         Address grad_rows, Address grad_target, Address grad_source, Address scratch,
         int threads) {
        static const auto kernel = ELASTICGNN_PICK(attention_backward);
        call(kernel, AttentionBackward{graph,
                                       {heads, channels},
                                       in(grad),
                                       in(target),
                                       in(source),
                                       in(factor),
                                       in(most),
                                       in(inverse),
                                       in(above),
                                       in(packed_rows),
                                       in(packed_out),
                                       in(packed_above),
                                       out(grad_rows),
                                       out(grad_target),
                                       out(grad_source),
                                       out(scratch),
                                       threads});
      },
      "Gradients of the rows, targets and sources from that of the result.");
}

}  // namespace elasticgnn
