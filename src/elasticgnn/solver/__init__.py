"""The certified solver: graph signal denoising with a proof of optimality."""

from elasticgnn.solver.extras import Extras as Extras
from elasticgnn.solver.freedom import degrees_of_freedom as degrees_of_freedom
from elasticgnn.solver.intervals import PieceIntervals as PieceIntervals
from elasticgnn.solver.intervals import piece_intervals as piece_intervals
from elasticgnn.solver.lambda1_max import Lambda1Max as Lambda1Max
from elasticgnn.solver.lambda1_max import lambda1_max as lambda1_max
from elasticgnn.solver.lambda1_max import log_grid as log_grid
from elasticgnn.solver.losses import Huber as Huber
from elasticgnn.solver.losses import Logistic as Logistic
from elasticgnn.solver.losses import Loss as Loss
from elasticgnn.solver.losses import Poisson as Poisson
from elasticgnn.solver.losses import Quantile as Quantile
from elasticgnn.solver.losses import Squared as Squared
from elasticgnn.solver.measure import Verdict as Verdict
from elasticgnn.solver.minimise import minimise as minimise
from elasticgnn.solver.noise import noise_grid as noise_grid
from elasticgnn.solver.noise import noise_level as noise_level
from elasticgnn.solver.path import Path as Path
from elasticgnn.solver.path import minimise_path as minimise_path
from elasticgnn.solver.segments import Boundary as Boundary
from elasticgnn.solver.select import Selection as Selection
from elasticgnn.solver.select import UncertifiedFoldWarning as UncertifiedFoldWarning
from elasticgnn.solver.select import cross_validate as cross_validate
from elasticgnn.solver.solution import Solution as Solution
