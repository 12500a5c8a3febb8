"""What the difference along one edge costs: a module for each penalty, and the registry of all."""

from elasticgnn.problem.penalties.base import EdgePenalty as EdgePenalty
from elasticgnn.problem.penalties.registry import PENALTIES as PENALTIES
