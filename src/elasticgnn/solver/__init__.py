"""The certified solver: graph signal denoising with a proof of optimality."""

from elasticgnn.solver.lambda1_max import Lambda1Max as Lambda1Max
from elasticgnn.solver.lambda1_max import lambda1_max as lambda1_max
from elasticgnn.solver.lambda1_max import log_grid as log_grid
from elasticgnn.solver.minimise import minimise as minimise
from elasticgnn.solver.path import Path as Path
from elasticgnn.solver.path import minimise_path as minimise_path
from elasticgnn.solver.segments import Boundary as Boundary
from elasticgnn.solver.select import Selection as Selection
from elasticgnn.solver.select import cross_validate as cross_validate
from elasticgnn.solver.select import noise_grid as noise_grid
from elasticgnn.solver.solution import Solution as Solution
