"""The settings of every model by name: what a model file stores."""

import math
from dataclasses import dataclass
from typing import Any

# of each model, the settings that it uses
SETTINGS_USED = {
    "elastic": (
        *("hidden_channels", "num_layers", "dropout", "batch_norm"),
        *("steps", "lambda1", "lambda2", "norm", "concavity"),
    ),
    "mlp": ("hidden_channels", "num_layers", "dropout", "batch_norm"),
    "gcn": ("hidden_channels", "dropout"),
    "gat": ("hidden_channels", "dropout", "heads", "attention_dropout"),
    "cheb": ("hidden_channels", "dropout"),
    "sage": ("hidden_channels", "dropout"),
    "appnp": ("hidden_channels", "dropout", "steps", "alpha"),
    "sgc": ("dropout",),
}
MODEL_NAMES = tuple(SETTINGS_USED)


@dataclass(frozen=True)
class ModelSettings:
    """A model without its weights and its sizes at both ends.

    steps: of propagation (elastic, appnp; sgc has 2); lambda1, lambda2, norm, concavity: elastic;
    alpha: teleport of appnp; heads: of gat, whose hidden channels they share; attention_dropout:
    of gat's coefficients.

    >>> ModelSettings("gcn", hidden_channels=16).hidden_channels
    16
    >>> ModelSettings("transformer")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: name must be one of ('elastic', 'mlp', ..., got 'transformer'
    """

    name: str = "elastic"
    hidden_channels: int = 64
    num_layers: int = 2
    dropout: float = 0.5
    steps: int = 10
    lambda1: float = 3.0
    lambda2: float = 3.0
    norm: str = "l21"
    concavity: float | None = None
    alpha: float = 0.1
    heads: int = 8
    batch_norm: bool = False
    attention_dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in MODEL_NAMES:
            raise ValueError(f"name must be one of {MODEL_NAMES}, got {self.name!r}")
        if self.hidden_channels < 1 or self.num_layers < 1:
            raise ValueError(
                "hidden_channels and num_layers must be >= 1, "
                f"got {self.hidden_channels} and {self.num_layers}"
            )
        if not 0 <= self.steps < 2**31 or self.heads < 1:
            raise ValueError(
                f"steps must be in 0..2^31 - 1 and heads >= 1, got {self.steps} and {self.heads}"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")
        if not 0 <= self.attention_dropout < 1:
            raise ValueError(f"attention_dropout must be in [0, 1), got {self.attention_dropout}")
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha must be in [0, 1], got {self.alpha}")
        if self.name not in ("elastic", "mlp") and (self.num_layers != 2 or self.batch_norm):
            raise ValueError(f"num_layers must be 2 without batch_norm for model {self.name!r}")
        if self.name == "gat" and self.hidden_channels % self.heads:
            raise ValueError(
                f"hidden_channels must be a multiple of heads = {self.heads}, "
                f"got {self.hidden_channels}"
            )


def settings_in_use(settings: ModelSettings) -> dict[str, Any]:
    """The settings that the model uses, by name.

    >>> settings_in_use(ModelSettings("sgc", hidden_channels=16))
    {'dropout': 0.5}
    """
    names = SETTINGS_USED[settings.name]
    without_hidden = settings.num_layers == 1
    return {
        name: getattr(settings, name)
        for name in names
        if not (without_hidden and name == "hidden_channels")
    }


def lambda2_of(alpha: float) -> float:
    """The lambda2 that makes ElasticGNN without lambda1 APPNP: 1/alpha - 1, inf for 0."""
    return 1 / alpha - 1 if alpha > 0 else math.inf
