// Elastic message passing and its adjoint in float32. The adjoint reruns forward steps: together
// they share that code.
#include "emp/general/backward_pass.h"
#include "emp/general/forward_pass.h"

namespace elasticgnn::ISA_NAMESPACE {

template std::size_t emp_forward(const EmpProblem<float>&, const EmpForward<float>&, char*);
template std::size_t emp_backward(const EmpProblem<float>&, const EmpBackward<float>&, char*);

}  // namespace elasticgnn::ISA_NAMESPACE
