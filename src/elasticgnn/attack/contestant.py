"""The models of a robustness comparison, and how they are named on the command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from elasticgnn.attack.hardening import with_penalty
from elasticgnn.data import NodeTask, Split
from elasticgnn.nn import ElasticGNN, ModelSettings
from elasticgnn.problem import ElasticPenalty
from elasticgnn.training import TrainingPlan, fit, make_model

# lambda1, lambda2 and concavity of penalties that a trained network only predicts with
AT_PREDICTION = {
    "mcp": ElasticPenalty(3.0, 0.0, "mcp", 2.5),
    "scad": ElasticPenalty(3.0, 0.0, "scad", 3.2),
    "l21": ElasticPenalty(3.0, 0.0),
}


@dataclass(frozen=True)
class Contestant:
    """Settings to train with, and another penalty to predict with where one is given."""

    name: str
    settings: ModelSettings
    predicting: ElasticPenalty | None = None

    @property
    def sees_graph(self) -> bool:
        return self.settings.name != "mlp"

    def untrained(self, task: NodeTask, generator: torch.Generator) -> nn.Module:
        """A freshly initialised model of the settings."""
        return make_model(self.settings, task, generator)

    def train(self, task: NodeTask, split: Split, plan: TrainingPlan, seed: int) -> nn.Module:
        """A model trained on the task as it is, with its penalty for prediction."""
        generator = torch.Generator().manual_seed(seed)
        model = self.untrained(task, generator)
        fit(model, task, split, plan, generator)
        if self.predicting is None:
            return model
        assert isinstance(model, ElasticGNN)  # checked by `read_contestant`
        return with_penalty(model, self.predicting)


def read_contestant(text: str, base: ModelSettings) -> Contestant:
    """The model that `text` names; settings not named are those of `base`.

    "gcn"; "elastic:mcp:3:0:2.5" trains with norm, lambda1, lambda2 and concavity (each may be left
    out from the right); "elastic+mcp" trains with the base penalty and predicts with another.
    """

    plain, _, other = text.partition("+")
    name: Any
    name, *parts = plain.split(":")
    if (parts or other) and name != "elastic":
        raise ValueError(f"models must name a penalty of elastic only, got {text!r}")
    if len(parts) > 4 or (other and other not in AT_PREDICTION):
        raise ValueError(
            "models must be like gcn, elastic:mcp:3:0:2.5 or elastic+mcp "
            f"(+ one of {tuple(AT_PREDICTION)}), got {text!r}"
        )
    options: dict[str, Any] = {"norm": parts[0]} if parts else {}
    for field, part in zip(("lambda1", "lambda2", "concavity"), parts[1:], strict=False):
        options[field] = read_number(part, text)
    settings = replace(base, name=name, **options)
    return Contestant(text, settings, AT_PREDICTION.get(other))


def read_number(part: str, text: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise ValueError(f"models must have numbers after the norm, got {text!r}") from None
