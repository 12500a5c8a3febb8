"""The certified solver: graph signal denoising with a proof of optimality."""

from elasticgnn.solver.minimise import minimise as minimise
from elasticgnn.solver.segments import Boundary as Boundary
from elasticgnn.solver.solution import Solution as Solution
