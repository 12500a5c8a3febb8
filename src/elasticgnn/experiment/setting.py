"""One point of a search space: everything that may differ between two trainings of a cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from elasticgnn.nn.settings import lambda2_of
from elasticgnn.problem.penalties.registry import NORMS

Value = float | int | str


@dataclass(frozen=True, order=True)
class Setting:
    """Hyperparameters of one training; rivals ignore the elastic ones.

    >>> from elasticgnn.experiment import Setting
    >>> Setting.from_json(Setting(lambda1=6.0).to_json()).lambda1
    6.0
    """

    steps: int = 10
    norm: str = "l21"
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    lambda1: float = 3.0
    lambda2: float = 3.0
    attention_dropout: float = 0.0  # GAT alone

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ValueError(f"steps must be >= 0, got {self.steps}")
        if self.norm not in NORMS:
            raise ValueError(f"norm must be one of {NORMS}, got {self.norm!r}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be > 0, got {self.learning_rate}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")
        if not 0 <= self.attention_dropout < 1:
            raise ValueError(f"attention_dropout must be in [0, 1), got {self.attention_dropout}")
        for name in ("weight_decay", "lambda1", "lambda2"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be >= 0, got {getattr(self, name)}")

    @property
    def alpha(self) -> float:
        """APPNP's teleport probability that acts like lambda2: 1 / (1 + lambda2)."""
        return 1 / (1 + self.lambda2)

    def canonical(self) -> Setting:
        """The same training under one name: without lambda1 both norms are one."""
        return replace(self, norm="l21") if self.lambda1 == 0 else self

    def to_json(self) -> dict[str, Value]:
        """Plain values; an infinite lambda2 is the text "inf", attention_dropout only if used."""
        values = {name: as_text_if_infinite(value) for name, value in asdict(self).items()}
        if self.attention_dropout == 0:
            del values["attention_dropout"]
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Value]) -> Setting:
        """The setting of `to_json`, or of a table of a study file (may give alpha)."""
        known = {field.name: field.type for field in fields(cls)}
        values = {**values, **teleport(values)}
        unknown = sorted(set(values) - set(known) - {"alpha"})
        if unknown:
            raise ValueError(f"setting must have names of {sorted(known)}, got {unknown}")
        kinds: dict[str, Callable[[Any], Any]] = {"int": whole, "str": str, "float": float}
        return cls(**{n: kinds[str(known[n])](v) for n, v in values.items() if n in known})

    def label(self, *, elastic: bool = True) -> str:
        """One line for people; rivals have neither steps nor lambdas."""
        shared = f"lr {self.learning_rate:g}, wd {self.weight_decay:g}, dropout {self.dropout:g}"
        if self.attention_dropout > 0:
            shared += f", attention dropout {self.attention_dropout:g}"
        own = f", K {self.steps}, λ1 {self.lambda1:g}, λ2 {self.lambda2:.4g}"
        return shared + own if elastic else shared


def whole(value: Value) -> int:
    """`value` as a whole number; nothing is rounded."""
    if isinstance(value, bool) or float(value) != int(value):
        raise ValueError(f"setting must be a whole number, got {value!r}")
    return int(value)


def teleport(values: Mapping[str, Value]) -> dict[str, Value]:
    """lambda1 and lambda2 that equal APPNP's alpha, if `values` gives one."""
    if "alpha" not in values:
        return {}
    alpha = float(values["alpha"])
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")
    return {"lambda1": 0.0, "lambda2": round(lambda2_of(alpha), 12)}


def as_text_if_infinite(value: Value) -> Value:
    """The value, or "inf": JSON has no infinity."""
    return "inf" if isinstance(value, float) and math.isinf(value) else value
