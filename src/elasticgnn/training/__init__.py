"""Training: one loop for any model, and populations of ElasticGNN runs side by side."""

from elasticgnn.training.fit import fit as fit
from elasticgnn.training.history import History as History
from elasticgnn.training.make_model import make_model as make_model
from elasticgnn.training.plan import TrainingPlan as TrainingPlan
from elasticgnn.training.population import fit_population as fit_population
from elasticgnn.training.run import Run as Run
