"""The models that are compared, and the settings tried of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from elasticgnn.nn import ModelSettings
from elasticgnn.problem.penalties.registry import CONVEX_NORMS
from elasticgnn.training.plan import Loss, TrainingPlan

GRAPH_FREE = ("majority", "logistic regression", "ridge", "mlp")
PLAN = TrainingPlan(0.01, 5e-4, epochs=300, patience=50, ties="loss only")
STRENGTHS = ((1.0, 1.0), (3.0, 3.0), (1.0, 0.0), (3.0, 0.0), (0.3, 3.0), (0.3, 0.3))


@dataclass(frozen=True)
class Candidate:
    """One family of models with its settings.

    by_id: features are stand-ins, one column per node; gain: of label propagation.
    """

    family: str
    settings: ModelSettings
    plan: TrainingPlan = field(default=PLAN)
    by_id: bool = False
    gain: float = 10.0

    @property
    def needs_graph(self) -> bool:
        """Whether the model looks at edges."""
        return self.family not in GRAPH_FREE


def first_candidates(*, large: bool, has_features: bool, dropout: float = 0.5) -> list[Candidate]:
    """One or a few of each family; of `large` graphs only one each."""
    strengths = STRENGTHS[:1] if large else STRENGTHS
    alphas = (0.1,) if large else (0.1, 0.3)
    plain = [Candidate("mlp", ModelSettings("mlp", dropout=dropout))]
    plain += [Candidate(name, ModelSettings(name, dropout=dropout)) for name in ("sage", "gcn")]
    plain += [Candidate("appnp", ModelSettings("appnp", alpha=alpha)) for alpha in alphas]
    plain += [
        Candidate("elastic", ModelSettings(lambda1=one, lambda2=two)) for one, two in strengths
    ]
    if not large:
        norm = ModelSettings(lambda1=1.0, lambda2=1.0, norm="l1")
        plain.append(Candidate("elastic", norm))
    if has_features and not large:
        ids = ModelSettings("appnp", alpha=0.1)
        plain.append(Candidate("appnp on ids", ids, by_id=True))
    return plain


def variations(best: Candidate, rng: np.random.Generator) -> Iterator[Candidate]:
    """Endless random neighbours of a candidate in the space of its family."""
    while True:
        s, plan = best.settings, best.plan
        settings = replace(
            s,
            dropout=float(rng.choice([0.0, 0.2, 0.5, 0.8])),
            hidden_channels=int(rng.choice([32, 64, 128])),
        )
        if s.name == "elastic":
            one, two = (float(rng.choice([0.0, 0.1, 0.3, 1.0, 3.0, 6.0])) for _ in range(2))
            steps, norm = int(rng.choice([3, 5, 10])), str(rng.choice(CONVEX_NORMS))
            settings = replace(settings, lambda1=one, lambda2=two, steps=steps, norm=norm)
        if s.name == "appnp":
            alpha, steps = float(rng.choice([0.05, 0.1, 0.2, 0.5])), int(rng.choice([2, 5, 10]))
            settings = replace(settings, alpha=alpha, steps=steps)
        decay, rate = float(rng.choice([0.0, 5e-5, 5e-4, 5e-3])), float(rng.choice([3e-3, 0.01]))
        loss: Loss = "huber" if rng.random() < 0.5 else "squared"
        plan = replace(plan, learning_rate=rate, weight_decay=decay, loss=loss)
        yield replace(best, settings=settings, plan=plan)
