// Elastic message passing and its adjoint in float64 (emp/general/float.isa.cpp says why together).
#include "emp/general/backward_pass.h"
#include "emp/general/forward_pass.h"

namespace elasticgnn::ISA_NAMESPACE {

template std::size_t emp_forward(const EmpProblem<double>&, const EmpForward<double>&, char*);
template std::size_t emp_backward(const EmpProblem<double>&, const EmpBackward<double>&, char*);

}  // namespace elasticgnn::ISA_NAMESPACE
