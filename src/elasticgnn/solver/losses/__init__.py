"""The losses of the solver, one module each."""

from elasticgnn.solver.losses.huber import Huber as Huber
from elasticgnn.solver.losses.logistic import Logistic as Logistic
from elasticgnn.solver.losses.loss import Array as Array
from elasticgnn.solver.losses.loss import Loss as Loss
from elasticgnn.solver.losses.names import as_loss as as_loss
from elasticgnn.solver.losses.poisson import Poisson as Poisson
from elasticgnn.solver.losses.quantile import Quantile as Quantile
from elasticgnn.solver.losses.squared import Squared as Squared
