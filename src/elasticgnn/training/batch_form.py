"""What APPNP and the MLP are in terms of ElasticGNN."""

from __future__ import annotations

from dataclasses import replace

from elasticgnn.nn import ModelSettings
from elasticgnn.nn.settings import lambda2_of


def as_elastic(settings: ModelSettings) -> ModelSettings | None:
    """The settings as those of a plain two-layer ElasticGNN; None for other models.

    APPNP has lambda1 = 0 and lambda2 = 1/alpha - 1, an MLP takes no steps.
    """
    if settings.num_layers != 2 or settings.batch_norm:
        return None
    if settings.name == "elastic":
        return settings
    if settings.name == "mlp":
        return replace(settings, name="elastic", lambda1=0.0, lambda2=0.0, norm="l21", steps=0)
    if settings.name == "appnp":
        lambda2 = lambda2_of(settings.alpha)
        return replace(settings, name="elastic", lambda1=0.0, lambda2=lambda2, norm="l21")
    return None
