// Elastic message passing for wide rows and its adjoint, in double.
#include "emp/wide/backward.h"
#include "emp/wide/forward_pass.h"

namespace elasticgnn::ISA_NAMESPACE {

template std::size_t wide_forward(const EmpProblem<double>&, const WideForward<double>&, char*);
template std::size_t wide_backward(const EmpProblem<double>&, const WideBackward<double>&, char*);

}  // namespace elasticgnn::ISA_NAMESPACE
