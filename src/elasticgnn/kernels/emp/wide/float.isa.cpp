// Elastic message passing for wide rows and its adjoint, in float.
#include "emp/wide/backward.h"
#include "emp/wide/forward_pass.h"

namespace elasticgnn::ISA_NAMESPACE {

template std::size_t wide_forward(const EmpProblem<float>&, const WideForward<float>&, char*);
template std::size_t wide_backward(const EmpProblem<float>&, const WideBackward<float>&, char*);

}  // namespace elasticgnn::ISA_NAMESPACE
