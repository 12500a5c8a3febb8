"""One member of a population: everything in which it may differ from its neighbours."""

import math
from dataclasses import dataclass

from elasticgnn.data import Split
from elasticgnn.nn import ModelSettings
from elasticgnn.training.plan import TrainingPlan, check_rate
from elasticgnn.training.population.batch_form import batch_form


@dataclass(frozen=True, eq=False)
class Run:
    """One training; `seed` fixes initial weights and dropout, a GCN takes no notice of lambdas.

    >>> from elasticgnn.training import Run
    >>> Run(split, seed=1, lambda1=2.0).lambda1
    2.0
    """

    split: Split
    seed: int = 0
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    lambda1: float = 3.0
    lambda2: float = 3.0

    def __post_init__(self) -> None:
        check_rate("learning_rate", self.learning_rate)
        check_rate("weight_decay", self.weight_decay)
        check_rate("lambda1", self.lambda1)
        if math.isnan(self.lambda2) or self.lambda2 < 0:
            raise ValueError(f"lambda2 must be a number >= 0, got {self.lambda2}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")


def run_of(settings: ModelSettings, plan: TrainingPlan, split: Split, seed: int = 0) -> Run:
    """The run that trains `settings` (elastic, appnp, gcn or mlp) as `plan` says."""
    form = batch_form(settings)
    if form is None:
        raise ValueError(f"settings must be of a two-layer elastic model or gcn, got {settings}")
    rates = plan.learning_rate, plan.weight_decay, form.dropout
    return Run(split, seed, *rates, form.lambda1, form.lambda2)
