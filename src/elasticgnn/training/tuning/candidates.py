"""The models that are compared, and the settings tried of each."""

from __future__ import annotations

from dataclasses import dataclass, field

from elasticgnn.nn import ModelSettings
from elasticgnn.training.plan import TrainingPlan

GRAPH_FREE = ("majority", "logistic regression", "ridge", "mlp")
PLAN = TrainingPlan(0.01, 5e-4, epochs=500, patience=50, ties="loss only")
STRENGTHS = ((1.0, 1.0), (3.0, 3.0), (1.0, 0.0), (3.0, 0.0), (0.3, 3.0), (0.3, 0.3))


@dataclass(frozen=True)
class Candidate:
    """One family of models with its settings.

    by_id: features are stand-ins, one column per node; shrinkage: weight of the
    prior of label averages, weight decay of ridge regression; hops: how far away the nodes are
    whose mean features stand beside a node's own.
    """

    family: str
    settings: ModelSettings
    plan: TrainingPlan = field(default=PLAN)
    by_id: bool = False
    shrinkage: float = 1.0
    hops: int = 0

    @property
    def needs_graph(self) -> bool:
        """Whether the model looks at edges."""
        return self.family not in GRAPH_FREE


def first_candidates(
    *, large: bool, has_features: bool, dropout: float = 0.5, hops: int = 0
) -> list[Candidate]:
    """One or a few of each family; of `large` graphs only one each.

    hops: at most so far away are the nodes whose mean features are looked at.
    """
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
    for reach in range(hops if large else 1, hops + 1):
        settings = ModelSettings("mlp", dropout=0.2)
        plain.append(Candidate("mlp on hops", settings, hops=reach))
    return plain
