"""What models are to the compiled loops, which know ElasticGNN and GCN."""

from __future__ import annotations

from dataclasses import replace

from elasticgnn.nn import ModelSettings
from elasticgnn.nn.settings import lambda2_of


def batch_form(settings: ModelSettings) -> ModelSettings | None:
    """The settings as those of a plain two-layer ElasticGNN or of GCN; None for other models.

    APPNP is ElasticGNN with lambda1 = 0 and lambda2 = 1/alpha - 1, an MLP takes no steps.
    """
    if settings.num_layers != 2 or settings.batch_norm:
        return None
    if settings.name == "elastic":
        return settings
    if settings.name in ("mlp", "gcn"):
        name = "gcn" if settings.name == "gcn" else "elastic"
        return replace(settings, name=name, lambda1=0.0, lambda2=0.0, norm="l21", steps=0)
    if settings.name == "appnp":
        lambda2 = lambda2_of(settings.alpha)
        return replace(settings, name="elastic", lambda1=0.0, lambda2=lambda2, norm="l21")
    return None
