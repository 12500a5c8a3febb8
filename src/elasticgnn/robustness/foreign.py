"""Modules of others in a comparison: tried before anything is trained, and watched from then on."""

from __future__ import annotations

import copy
import hashlib
import importlib
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from elasticgnn.nn import ModelSettings
from elasticgnn.robustness.contestant import Contestant, Found
from elasticgnn.training.loop.forward import forward_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from elasticgnn.data import NodeTask, Split
    from elasticgnn.training import TrainingPlan


UNTOUCHED = "must leave features and edges as they are, got others"
TRAINED = "trained_in_a_comparison"  # says of a module that its logits must be finite from now on


class DefenceError(ValueError):
    """What somebody else's module does wrong, said of it by name."""


@dataclass(frozen=True)
class ForeignContestant(Contestant):
    """Somebody else's module: what goes wrong in its training, too, is said of it."""

    def fitted(
        self,
        model: nn.Module,
        task: NodeTask,
        split: Split,
        plan: TrainingPlan,
        generator: torch.Generator,
    ) -> nn.Module:
        """The trained module: its weights are numbers, and all that it has kept of the graph."""
        spec, untouched = self.name, copy.deepcopy(model)
        fit = super().fitted
        attempt(spec, "must be trainable by Adam", lambda: fit(model, task, split, plan, generator))
        check_weights(spec, model)
        model.eval()
        rule = "must answer by its state_dict and the graph alone"
        check_memory(spec, model, untouched, task, f"{rule}, got other logits after training")
        setattr(model, TRAINED, True)
        return model

    def blamed(self, work: Callable[[], Found]) -> Found:
        """What an attack through the module finds; where torch fails, the module is named."""
        try:
            return work()
        except RuntimeError as error:
            reason = f"{type(error).__name__}: {error}"
            raise DefenceError(
                f"defence {self.name} must hand back its gradient, got {reason}"
            ) from error


def read_foreign(spec: str) -> Contestant:
    """The torch module "package.module:Class", built as Class(in_channels, out_channels).

    Its forward takes (x, edge_index[, edge_weight]) or (x, graph), as `training.forward` says.
    What it does wrong is said of it: it is the user's code, not ours.
    """
    module, _, attribute = spec.partition(":")
    if not module or not attribute:
        raise DefenceError(f"defence must be like my_module:MyModel, got {spec!r}")
    rule = "must be a class that can be imported"
    kind = attempt(spec, rule, lambda: getattr(importlib.import_module(module), attribute))
    return ForeignContestant(
        spec, ModelSettings(), lambda task: build(spec, kind, task), source=digest_of(module)
    )


def digest_of(module: str) -> str:
    """Names what the module's file says now, so that its rows are measured anew when it changes."""
    path = getattr(sys.modules[module], "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] if path else ""


def attempt(spec: str, rule: str, work: Callable[[], Any]) -> Any:
    """What `work` gives; whatever it raises, an exit too, is a DefenceError.

    What it prints goes to the error stream: a program may read the other one.
    """
    try:
        with redirect_stdout(sys.stderr):
            return work()
    except DefenceError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DefenceError(f"defence {spec} {rule}, got {reason}") from error


def build(spec: str, kind: Any, task: NodeTask) -> nn.Module:
    """A fresh module, whose logits on the task and on another graph have been looked at."""
    sizes = (task.num_features, task.num_classes)
    model = attempt(spec, "must be built as (in, out channels)", lambda: kind(*sizes))
    if not isinstance(model, nn.Module):
        raise DefenceError(f"defence {spec} must be a torch module, got {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):  # whose copies lose their signature
        raise DefenceError(f"defence {spec} must be a module as it was written, got a scripted one")
    model.eval()
    watch(spec, model, (task.num_nodes, task.num_classes))
    before = task.features.clone() if isinstance(task.features, Tensor) else None
    try:
        check_answers(spec, model, task)
    finally:
        is_changed = before is not None and restored(task, before)
    if is_changed:
        raise DefenceError(f"defence {spec} {UNTOUCHED}")
    return model.train()


def restored(task: NodeTask, before: Tensor) -> bool:
    """Whether the features had to be given the values from before."""
    x = task.features
    assert isinstance(x, Tensor)
    if torch.equal(x, before):
        return False
    x.copy_(before)
    return True


def check_answers(spec: str, model: nn.Module, task: NodeTask) -> None:
    """Refuses an untrained module whose logits are no function of weights and graph."""
    untouched = attempt(spec, "must be copied by copy.deepcopy", lambda: copy.deepcopy(model))
    logits = answer(model, task)
    check_logits(spec, logits, (task.num_nodes, task.num_classes))
    if not alike(answer(model, task), logits):
        raise DefenceError(
            f"defence {spec} must give the same logits again in eval mode, got others"
        )
    rule = "must go by the graph it is called with, got the logits of an earlier one"
    check_memory(spec, model, untouched, task, rule)


def watch(spec: str, model: nn.Module, shape: tuple[int, int]) -> None:
    """Has every call of the module looked at: on attacked graphs and in training, too.

    Its class is replaced by one of the same kind, so that copies of it are watched as well.
    """
    kind = type(model)

    @wraps(kind.forward)
    def forward(self: nn.Module, *given: Any, **named: Any) -> Any:
        before = [(one, one._version) for one in tensors(given, named)]
        rule = "must take (x, edge_index), called so, or (x, graph)"
        logits = attempt(spec, rule, lambda: kind.forward(self, *given, **named))
        if any(one._version != version for one, version in before):
            raise DefenceError(f"defence {spec} {UNTOUCHED}")
        is_judged = getattr(self, TRAINED, False) and not torch.is_grad_enabled()
        check_logits(spec, logits, shape, finite=is_judged)
        return logits

    # what a class of ours predicts on many graphs at once is not what one made from it does
    changed = {"forward": forward, "predict_flipped": None}
    model.__class__ = type(kind.__name__, (kind,), changed)


def tensors(given: tuple[Any, ...], named: dict[str, Any]) -> list[Tensor]:
    """The tensors of a call; a Graph hands out copies of its own."""
    return [one for one in (*given, *named.values()) if isinstance(one, Tensor)]


@torch.no_grad()
def answer(model: nn.Module, task: NodeTask) -> Any:
    """What the module predicts on the task's graph."""
    return forward_on(model, task.features, task.graph)(None)


def check_memory(
    spec: str, model: nn.Module, untouched: nn.Module, task: NodeTask, rule: str
) -> None:
    """Refuses a module that goes by a graph it saw before: no flip could ever reach it.

    untouched: a copy from before that, which gets the weights. Another graph, without every other
    edge, must bring the same from both.
    """
    own = "must load its own state_dict"  # weights may be drawn at the first call
    attempt(spec, own, lambda: untouched.load_state_dict(model.state_dict()))
    graph = task.graph
    gone = torch.stack((graph.tail, graph.head), 1)[::2]
    other = task.with_graph(graph.with_edges_flipped(gone))
    if not alike(answer(model, other), answer(untouched.eval(), other)):
        raise DefenceError(f"defence {spec} {rule}")


def alike(one: Any, other: Any) -> bool:
    """Whether logits are the same but for the order of sums."""
    if not isinstance(one, Tensor) or not isinstance(other, Tensor) or one.shape != other.shape:
        return False
    scale = float(other.abs().max()) if other.numel() else 0.0
    return torch.allclose(one, other, rtol=1e-3, atol=1e-4 * scale, equal_nan=True)


def check_logits(spec: str, logits: Any, shape: tuple[int, int], *, finite: bool = True) -> None:
    """Refuses what is no table of numbers, a row per node and a column per class.

    In training and for a gradient they need not be `finite`: another epoch is taken, and an attack
    does without the gradient.
    """
    wanted = f"defence {spec} must give finite logits {shape}"
    if not isinstance(logits, Tensor):
        raise DefenceError(f"{wanted}, got {type(logits).__name__}")
    if logits.shape != shape or not logits.is_floating_point():
        raise DefenceError(f"{wanted}, got {tuple(logits.shape)} of {logits.dtype}")
    if logits.device.type != "cpu" or logits.layout != torch.strided:
        raise DefenceError(f"{wanted} on the CPU, got {logits.layout} on {logits.device}")
    if finite and not logits.isfinite().all():
        raise DefenceError(f"{wanted}, got infinite ones or NaN")


def check_weights(spec: str, model: nn.Module) -> None:
    """Refuses weights that training has made no numbers."""
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise DefenceError(f"defence {spec} must keep finite weights, got others in {name}")
