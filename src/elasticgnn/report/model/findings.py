"""What a model finds at every node and edge of a task: all that its page shows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from elasticgnn.attack import EdgeScores, score_edges
from elasticgnn.data import NodeTask
from elasticgnn.data.homophily import homophily
from elasticgnn.nn import ElasticGNN
from elasticgnn.training import Prediction, TrainedModel
from elasticgnn.training.model.known_classes import with_known_classes
from elasticgnn.training.model.roles import node_roles
from elasticgnn.training.wrappers.ensemble import count_members


@dataclass(frozen=True, eq=False)
class ModelFindings:
    """A trained model on a task whose labels are the model's classes.

    roles: of each node, None where the model file does not say.
    """

    trained: TrainedModel
    task: NodeTask
    prediction: Prediction
    edges: EdgeScores
    roles: list[str] | None

    @property
    def ids(self) -> list[str]:
        """The name of each node as text."""
        return [str(node) for node in self.task.ids]

    @property
    def suspicion_notes(self) -> list[str]:
        """How the suspicion of edges comes about, and where it means little."""
        return suspicion_notes(self.trained, self.task)


def find(trained: TrainedModel, task: NodeTask) -> ModelFindings:
    """The findings of `trained` on `task`; the classes it knows speak for their nodes' edges."""
    roles = node_roles(trained, task)
    task = with_known_classes(task, trained.class_names)
    scores = score_edges(trained.model, trained.prepared(task), task.labelled)
    return ModelFindings(trained, task, trained.predict(task), scores, roles)


def suspicion_notes(trained: TrainedModel, task: NodeTask) -> list[str]:
    """One line on what the score is made of, a second where classes cross edges by nature."""
    if isinstance(trained.model, ElasticGNN):
        notes = ["The score ranks what each edge still bridges after elastic propagation."]
    else:
        count = count_members(trained.model)
        kind = "an ensemble" if count > 1 else "no ElasticGNN"
        notes = [
            f"The winner ({trained.family}) is {kind}: the score ranks how far the "
            "model's own outputs at the two ends differ."
        ]
    within, chance = homophily(task)
    if not math.isnan(within) and within <= chance:
        notes.append(
            f"Only {100 * within:.0f} % of the edges between known nodes join equal classes, "
            f"{100 * chance:.0f} % would by chance: here unequal ends are no sign of a wrong edge."
        )
    return notes
