"""The models of a robustness comparison, and how they are named on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import nn

from elasticgnn.attack.hardening import with_penalty
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, Split
from elasticgnn.defence import (
    GPRGNN,
    RUNG,
    ConfidenceGated,
    GNNGuard,
    Jaccard,
    SoftMedian,
    fit_adversarially,
)
from elasticgnn.features.dropout import draw_seed
from elasticgnn.nn import ElasticGNN, ModelSettings
from elasticgnn.problem import PENALTIES, ElasticPenalty
from elasticgnn.training import TrainingPlan, fit, make_model

# lambda1, lambda2 and concavity of penalties that a trained network only predicts with
AT_PREDICTION = {
    **{n: ElasticPenalty(3.0, 0.0, n, penalty.at_prediction) for n, penalty in PENALTIES.items()},
    "none": ElasticPenalty(0.0, 0.0),
}
DEFENCES = ("rung", "rung-root", "rung-l1", "jaccard", "gnnguard", "softmedian", "gprgnn")
MEDIAN_CHANNELS = 16  # Soft-Median sorts every hidden channel of every neighbourhood

Found = TypeVar("Found")
Make = Callable[[NodeTask], nn.Module]
Finish = Callable[[nn.Module], nn.Module]


@dataclass(frozen=True)
class Contestant:
    """A model by name: how it is made and trained, and what is done to it for prediction.

    >>> from elasticgnn.robustness import read_contestant
    >>> read_contestant("gcn", ModelSettings()).name
    'gcn'
    """

    name: str
    settings: ModelSettings
    make: Make | None = None  # where the settings do not name the model
    finish: Finish | None = None
    adversarial: bool = False
    variants: tuple[Contestant, ...] = ()  # other settings, among which validation nodes choose
    source: str = ""  # of somebody else's module: a digest of its file

    def untrained(self, task: NodeTask, generator: torch.Generator) -> nn.Module:
        """A freshly initialised model."""
        if self.make is None:
            return make_model(self.settings, task, generator)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(draw_seed(generator))
            return self.make(task)

    def finished(self, model: nn.Module) -> nn.Module:
        """The trained model as it predicts."""
        return model if self.finish is None else self.finish(model)

    def train(self, task: NodeTask, split: Split, plan: TrainingPlan, seed: int) -> nn.Module:
        """A model trained on the task as it is, ready to predict; of variants the best."""
        if self.variants:
            trained = [each.train(task, split, plan, seed) for each in self.variants]
            return max(trained, key=lambda one: Victim(one, task, split.val).accuracy(task.graph))
        generator = torch.Generator().manual_seed(seed)
        model = self.untrained(task, generator)
        return self.finished(self.fitted(model, task, split, plan, generator)).eval()

    def blamed(self, work: Callable[[], Found]) -> Found:
        """What an attack through the model finds."""
        return work()

    def fitted(
        self,
        model: nn.Module,
        task: NodeTask,
        split: Split,
        plan: TrainingPlan,
        generator: torch.Generator,
    ) -> nn.Module:
        """The model after its training."""
        if self.adversarial:
            fit_adversarially(model, task, split, plan, generator)
        else:
            fit(model, task, split, plan, generator)
        return model


def with_dropouts(text: str, base: ModelSettings, dropouts: Sequence[float]) -> Contestant:
    """The model that `text` names, with the dropout that does best on its validation nodes.

    Every model chooses among the same, by what it predicts on the graph it is trained on.

    >>> from elasticgnn.robustness.contestant import with_dropouts
    >>> [each.settings.dropout for each in with_dropouts("gcn", ModelSettings(), (0, 0.5)).variants]
    [0, 0.5]
    """
    first, *_ = every = [read_contestant(text, replace(base, dropout=rate)) for rate in dropouts]
    return replace(first, variants=tuple(every)) if len(every) > 1 else first


def read_contestant(text: str, base: ModelSettings) -> Contestant:
    """The model that `text` names; settings not named are those of `base`.

    "gcn"; "elastic:mcp:3:0:2.5" trains with norm, lambda1, lambda2 and concavity (each may be left
    out from the right); "elastic+mcp" trains with the base penalty and predicts with another,
    "elastic+none" without edges, "elastic+trust:0.8" as `ConfidenceGated`; "rung:3" has gamma = 3,
    "rung-root" is the other reading of its code; "gprgnn+adversarial" is trained against an attack.

    >>> from elasticgnn.robustness import read_contestant
    >>> read_contestant("elastic:mcp:3:0:2.5", ModelSettings()).settings.concavity
    2.5
    """
    plain, plus, other = text.partition("+")
    if plus and not other:
        raise ValueError(f"models must say something after +, got {text!r}")
    name, *parts = plain.split(":")
    if name in DEFENCES:
        return read_defence(text, name, parts, other, base)
    if (parts or other) and name != "elastic":
        raise ValueError(f"models must name a penalty of elastic only, got {text!r}")
    known = not other or other in AT_PREDICTION or other.startswith("trust:")
    if len(parts) > 4 or not known:
        raise ValueError(
            "models must be like gcn, elastic:mcp:3:0:2.5 or elastic+mcp "
            f"(+ one of {(*AT_PREDICTION, 'trust:0.8')}), got {text!r}"
        )
    options: dict[str, Any] = {"norm": parts[0]} if parts else {}
    for field, part in zip(("lambda1", "lambda2", "concavity"), parts[1:], strict=False):
        options[field] = read_number(part, text)
    settings = replace(base, name=name, **options)
    if name == "elastic":  # what the network would refuse is refused before the first training
        ElasticPenalty(settings.lambda1, settings.lambda2, settings.norm, settings.concavity)
    return Contestant(text, settings, finish=finishing(other, text))


def finishing(other: str, text: str) -> Finish | None:
    """What "+..." does to a trained ElasticGNN."""
    if not other:
        return None
    if other.startswith("trust:"):
        sure = read_number(other.removeprefix("trust:"), text)
        if not 0 <= sure <= 1:
            raise ValueError(f"models must trust from a chance in [0, 1] on, got {text!r}")
        return lambda model: ConfidenceGated(elastic(model), sure)
    return lambda model: with_penalty(elastic(model), AT_PREDICTION[other])


def elastic(model: nn.Module) -> ElasticGNN:
    """The model as an ElasticGNN."""
    assert isinstance(model, ElasticGNN)  # checked by `read_contestant`
    return model


def read_defence(
    text: str, name: str, parts: list[str], other: str, base: ModelSettings
) -> Contestant:
    """One of DEFENCES, with the sizes of `base`."""
    if other not in ("", "adversarial") or (other and name != "gprgnn"):
        raise ValueError(f"models must be adversarial as gprgnn+adversarial, got {text!r}")
    if parts and (name not in ("rung", "rung-root") or len(parts) > 1):
        raise ValueError(f"models must name gamma of rung only, got {text!r}")
    gamma = read_number(parts[0], text) if parts else 6.0
    hidden, dropout = base.hidden_channels, base.dropout

    def make(task: NodeTask) -> nn.Module:
        ends = (task.num_features, hidden, task.num_classes, dropout)
        if name == "jaccard":
            return Jaccard(task.features, hidden, task.num_classes, dropout)
        if name == "gnnguard":
            return GNNGuard(*ends)
        if name == "softmedian":
            return SoftMedian(task.num_features, MEDIAN_CHANNELS, task.num_classes, dropout)
        if name == "gprgnn":
            return GPRGNN(*ends)
        norm = "l1" if name == "rung-l1" else "mcp"
        return RUNG(*ends, gamma=gamma, norm=norm, double_root=name == "rung-root")

    return Contestant(text, base, make, adversarial=other == "adversarial")


def read_number(part: str, text: str) -> float:
    """The number that a part spells; ValueError if it spells none."""
    try:
        return float(part)
    except ValueError:
        raise ValueError(f"models must have numbers after the norm, got {text!r}") from None
