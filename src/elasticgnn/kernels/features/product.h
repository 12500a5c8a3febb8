// A sparse matrix times a dense one, for other families of the same instruction set.
#pragma once

#include "features/problem.h"

namespace elasticgnn::ISA_NAMESPACE {

void sparse_product(const SparseProduct& p);

}  // namespace elasticgnn::ISA_NAMESPACE
