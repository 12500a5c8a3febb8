"""The certified solver: graph signal denoising with a proof of optimality."""

from elasticgnn.solver.certificate.measure import Verdict as Verdict
from elasticgnn.solver.derivative.freedom import degrees_of_freedom as degrees_of_freedom
from elasticgnn.solver.lambda1_max import Lambda1Max as Lambda1Max
from elasticgnn.solver.lambda1_max import lambda1_max as lambda1_max
from elasticgnn.solver.lambda1_max import log_grid as log_grid
from elasticgnn.solver.losses import Huber as Huber
from elasticgnn.solver.losses import Logistic as Logistic
from elasticgnn.solver.losses import Loss as Loss
from elasticgnn.solver.losses import Poisson as Poisson
from elasticgnn.solver.losses import Quantile as Quantile
from elasticgnn.solver.losses import Squared as Squared
from elasticgnn.solver.minimise import minimise as minimise
from elasticgnn.solver.paths.path import Path as Path
from elasticgnn.solver.paths.path import minimise_path as minimise_path
from elasticgnn.solver.piece_intervals import PieceIntervals as PieceIntervals
from elasticgnn.solver.piece_intervals import piece_intervals as piece_intervals
from elasticgnn.solver.pieces.segments import Boundary as Boundary
from elasticgnn.solver.problem.extras import Extras as Extras
from elasticgnn.solver.selection.noise import noise_grid as noise_grid
from elasticgnn.solver.selection.noise import noise_level as noise_level
from elasticgnn.solver.selection.select import Selection as Selection
from elasticgnn.solver.selection.select import UncertifiedFoldWarning as UncertifiedFoldWarning
from elasticgnn.solver.selection.select import cross_validate as cross_validate
from elasticgnn.solver.solution import Solution as Solution
