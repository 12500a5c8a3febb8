"""Modules of others in a comparison: imported, built and tried once before anything is trained."""

from __future__ import annotations

import copy
import hashlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.data import NodeTask
from elasticgnn.nn import ModelSettings
from elasticgnn.robustness.contestant import Contestant
from elasticgnn.training.loop.forward import forward_on


def read_foreign(spec: str) -> Contestant:
    """The torch module "package.module:Class", built as Class(in_channels, out_channels).

    Its forward takes (x, edge_index[, edge_weight]) or (x, graph), as `training.forward` says.
    What it does wrong is said of it: it is the user's code, not ours.
    """
    module, _, attribute = spec.partition(":")
    if not module or not attribute:
        raise ValueError(f"defence must be like my_module:MyModel, got {spec!r}")
    rule = "must be a class that can be imported"
    kind = attempt(spec, rule, lambda: getattr(importlib.import_module(module), attribute))
    return Contestant(
        spec,
        ModelSettings(),
        lambda task: build(spec, kind, task),
        lambda m: settled(spec, m),
        source=digest_of(module),
    )


def digest_of(module: str) -> str:
    """Names what the module's file says now, so that its rows are measured anew when it changes."""
    path = getattr(sys.modules[module], "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] if path else ""


def attempt(spec: str, rule: str, work: Callable[[], Any]) -> Any:
    """What `work` gives; whatever it raises, an exit too, is a ValueError about the module."""
    try:
        return work()
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"defence {spec} {rule}, got {reason}") from error


def build(spec: str, kind: Any, task: NodeTask) -> nn.Module:
    """A fresh module, whose logits on the task and on another graph have been looked at."""
    sizes = (task.num_features, task.num_classes)
    model = attempt(spec, "must be built as (in, out channels)", lambda: kind(*sizes))
    if not isinstance(model, nn.Module):
        raise ValueError(f"defence {spec} must be a torch module, got {type(model).__name__}")
    model.eval()
    untouched = attempt(spec, "must be copied by copy.deepcopy", lambda: copy.deepcopy(model))
    logits = answer(spec, model, task)
    check_logits(spec, logits, (task.num_nodes, task.num_classes))
    if not alike(answer(spec, model, task), logits):
        raise ValueError(f"defence {spec} must give the same logits again in eval mode, got others")
    check_memory(spec, model, untouched, task)
    return model.train()


def answer(spec: str, model: nn.Module, task: NodeTask) -> Any:
    """What the module gives for the task, whose features it may not change."""
    x = task.features
    before = x.clone() if isinstance(x, Tensor) else None
    rule = "must take (x, edge_index) or (x, graph)"
    with torch.no_grad():
        found = attempt(spec, rule, lambda: forward_on(model, x, task.graph)(None))
    if isinstance(x, Tensor) and before is not None and not torch.equal(before, x):
        x.copy_(before)
        raise ValueError(f"defence {spec} must leave the features as they are, got others")
    return found


def check_memory(spec: str, model: nn.Module, untouched: nn.Module, task: NodeTask) -> None:
    """Refuses a module that goes by the first graph it saw: no flip could ever reach it.

    untouched: a copy from before `model` was called. Another graph, without every other edge, must
    bring the same from both.
    """
    rule = "must load its own state_dict"  # weights may be drawn at the first call
    attempt(spec, rule, lambda: untouched.load_state_dict(model.state_dict()))
    graph = task.graph
    gone = torch.stack((graph.tail, graph.head), 1)[::2]
    other = task.with_graph(graph.with_edges_flipped(gone))
    if not alike(answer(spec, model, other), answer(spec, untouched.eval(), other)):
        rule = "must go by the graph it is called with"
        raise ValueError(f"defence {spec} {rule}, got the logits of an earlier one")


def alike(one: Any, other: Any) -> bool:
    """Whether logits are the same but for the order of sums."""
    if not isinstance(one, Tensor) or not isinstance(other, Tensor) or one.shape != other.shape:
        return False
    scale = float(other.abs().max()) if other.numel() else 0.0
    return torch.allclose(one, other, rtol=1e-3, atol=1e-4 * scale, equal_nan=True)


def check_logits(spec: str, logits: Any, shape: tuple[int, int]) -> None:
    """Refuses what is no table of finite numbers, a row per node and a column per class."""
    wanted = f"defence {spec} must give finite logits {shape}"
    if not isinstance(logits, Tensor):
        raise ValueError(f"{wanted}, got {type(logits).__name__}")
    if logits.shape != shape or not logits.is_floating_point():
        raise ValueError(f"{wanted}, got {tuple(logits.shape)} of {logits.dtype}")
    if not logits.isfinite().all():
        raise ValueError(f"{wanted}, got infinite ones or NaN")


def settled(spec: str, model: nn.Module) -> nn.Module:
    """The trained module, whose weights are still numbers."""
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise ValueError(f"defence {spec} must keep finite weights, got others in {name}")
    return model
