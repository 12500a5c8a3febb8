"""The elastic objective: penalty, value, dual bound, gap, and what they say of each edge."""

from elasticgnn.problem.certificate import Certificate as Certificate
from elasticgnn.problem.certificate import certify as certify
from elasticgnn.problem.diagnostics import EdgeDiagnostics as EdgeDiagnostics
from elasticgnn.problem.diagnostics import diagnose_edges as diagnose_edges
from elasticgnn.problem.objective import dual_value as dual_value
from elasticgnn.problem.objective import primal_value as primal_value
from elasticgnn.problem.penalties import PENALTIES as PENALTIES
from elasticgnn.problem.penalties import EdgePenalty as EdgePenalty
from elasticgnn.problem.penalty import ElasticPenalty as ElasticPenalty
