"""Batches of ElasticGNN runs, trained together by compiled loops."""

from elasticgnn.training.population.fit_population import fit_population as fit_population
from elasticgnn.training.population.run import Run as Run
