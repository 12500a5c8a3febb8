"""A model as stages: what each node does alone, and propagations over the graph between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.nn import ModelSettings
from elasticgnn.nn.settings import lambda2_of
from elasticgnn.problem import ElasticPenalty

Rows = Tensor | SparseFeatures
Local = Callable[[Rows, DropoutNoise | None], Tensor]
MODELS = ("elastic", "appnp", "mlp", "gcn", "sgc")


@dataclass(frozen=True)
class Propagation:
    """`steps` elastic steps over the whole graph."""

    penalty: ElasticPenalty
    steps: int


def check_settings(settings: ModelSettings) -> None:
    """Refuses models whose layers cannot be computed part by part."""
    if settings.name not in MODELS:
        raise ValueError(f"model must be one of {MODELS} on a partition, got {settings.name!r}")
    if settings.batch_norm:
        raise ValueError("batch_norm must be off on a partition: it would mix the parts, got on")


def stages_of(model: nn.Module, settings: ModelSettings) -> list[Local | Propagation]:
    """The stages of a model that `build_model` made of `settings`."""
    check_settings(settings)
    any_model: Any = model
    average = ElasticPenalty(0.0, math.inf)  # F <- A F
    if settings.name == "mlp":
        return [lambda rows, noise: any_model(rows, noise=noise)]
    if settings.name == "gcn":
        return gcn_stages(any_model, average)

    def first(rows: Rows, noise: DropoutNoise | None) -> Tensor:
        logits: Tensor = any_model.logits(rows, noise=noise)
        return logits

    if settings.name == "sgc":
        return [first, Propagation(average, any_model.K)]
    if settings.name == "appnp":
        penalty = ElasticPenalty(0.0, lambda2_of(settings.alpha))
        return [first, Propagation(penalty, settings.steps)]
    return [first, Propagation(any_model.penalty, settings.steps)]


def gcn_stages(model: Any, average: ElasticPenalty) -> list[Local | Propagation]:
    """A convolution is a linear map, an average over neighbours, and a bias."""

    def first(rows: Rows, noise: DropoutNoise | None) -> Tensor:
        out: Tensor = model.linear(rows, noise, model.dropout)
        return out

    def second(rows: Rows, noise: DropoutNoise | None) -> Tensor:
        assert isinstance(rows, Tensor)
        hidden = model.activation(rows + model.first.bias)
        if noise is not None:
            hidden = noise(hidden, model.dropout, 1)
        out: Tensor = model.second.lin(hidden)
        return out

    def last(rows: Rows, noise: DropoutNoise | None) -> Tensor:
        assert isinstance(rows, Tensor)
        out: Tensor = rows + model.second.bias
        return out

    return [first, Propagation(average, 1), second, Propagation(average, 1), last]


def flat(tensors: list[Tensor]) -> Tensor:
    """All tensors as one row of numbers."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
