"""Training of a model on the rows that its training and validation nodes see, and on no others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import DropoutNoise, SparseFeatures
from elasticgnn.features.dropout import RowNoise
from elasticgnn.features.product import INPUT_SITE
from elasticgnn.nn.field import Field, FieldGraph, restrict
from elasticgnn.nn.gat import FIRST_SITE, SECOND_SITE
from elasticgnn.training.loop.record import Record

HIDDEN_SITE = 1


@dataclass(frozen=True, eq=False)
class FieldInput:
    """Features and graph of a field, and where its rows stand in those of the whole task."""

    features: SparseFeatures
    graph: FieldGraph
    field: Field
    first: Tensor  # position of every row's first feature value in the whole matrix

    @classmethod
    def of(cls, task: NodeTask, prepared: Any, nodes: Tensor) -> FieldInput:
        """What a model needs for its logits of `nodes`."""
        assert isinstance(task.features, SparseFeatures)
        field = Field.around(task.graph, nodes)
        rows = task.features.rows(field.order)
        first = task.features.start[field.order]
        return cls(rows, restrict(prepared, field), field, first)

    def noise(self, whole: DropoutNoise, hidden: int, heads: int) -> RowNoise:
        """The masks that `whole` has at these rows, for `hidden` channels and attention heads."""
        near = self.field.order[: self.field.sizes[1]]
        positions = {
            INPUT_SITE: (self.first, self.features.start),
            HIDDEN_SITE: rows_of(near, hidden),
        }
        widths = zip((FIRST_SITE, SECOND_SITE), self.graph.slots, (heads, 1), strict=False)
        positions |= {site: rows_of(slots, width) for site, slots, width in widths}
        return RowNoise(whole.seed, whole.epoch, positions, self.entries)

    @cached_property
    def entries(self) -> tuple[Tensor, Tensor]:
        """The number of each feature value in the whole matrix, by rows and by columns."""
        rows = self.features
        number = torch.arange(rows.num_values) + (self.first - rows.start[:-1])[rows.row]
        number = number.to(torch.int32)
        return number, number[rows.transpose_order]


def rows_of(numbers: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Positions of whole rows of a (.., width) tensor, and where they lie one after the other."""
    return numbers * width, torch.arange(len(numbers) + 1) * width


class FieldInputs:
    """The fields of the last split that was trained on: many settings have the same one."""

    def __init__(self, task: NodeTask) -> None:
        self.task = task
        self.key: tuple[Any, ...] = ()

    def get(self, model: Any, split: Split) -> tuple[FieldInput, FieldInput, Any]:
        """The inputs of training and validation nodes, and the whole graph as the model's own."""
        key = type(model), split.train.tolist(), split.val.tolist()
        if key != self.key:
            self.whole = model.prepare(self.task.graph)
            parts = (split.train, split.val)
            self.train, self.val = (FieldInput.of(self.task, self.whole, part) for part in parts)
            self.key = key
        return self.train, self.val, self.whole


def has_field(model: nn.Module, task: NodeTask, split: Split) -> bool:
    """Whether `model` looks two steps far and `split` has nodes to train on and to select by."""
    sparse = isinstance(task.features, SparseFeatures) and task.values is None
    two_steps = getattr(model, "receptive_steps", None) == 2
    parted = len(split.train) > 0 and len(split.val) > 0
    return sparse and two_steps and parted and not task.graph._weight.requires_grad


class ModelOnField:
    """A model with its fields, for `fit_by_autograd`: test nodes are looked at only when chosen.

    Losses, accuracies and masks are those of `ModelOnTask`, to rounding.
    """

    def __init__(self, model: Any, inputs: FieldInputs, split: Split) -> None:
        self.model, self.task, self.split = model, inputs.task, split
        self.train, self.val, self.whole = inputs.get(model, split)

    def step(self, optimizer: torch.optim.Optimizer, noise: DropoutNoise) -> float:
        """The training loss before one step of the optimizer."""
        self.model.train()
        optimizer.zero_grad()
        logits = self.model(self.train.features, self.train.graph, noise=self.own(noise))
        loss = cross_entropy(logits, self.task.labels[self.split.train])
        torch.autograd.backward(loss)
        optimizer.step()
        return float(loss.detach())

    def own(self, noise: DropoutNoise) -> RowNoise:
        """The masks of the training rows."""
        first, second = (getattr(self.model, name, None) for name in ("first", "second"))
        hidden = getattr(second, "in_channels", 1)  # SGC drops features alone
        return self.train.noise(noise, hidden, getattr(first, "heads", 1))

    @torch.no_grad()
    def evaluate(self) -> tuple[float, float, float]:
        """Validation loss and accuracy without dropout; nan for the test nodes."""
        self.model.eval()
        logits, labels = self.model(self.val.features, self.val.graph), self.task.labels
        truth = labels[self.split.val]
        found = (logits.argmax(1) == truth).double().mean()
        return float(cross_entropy(logits, truth)), float(found), float("nan")

    @torch.no_grad()
    def chosen(self, record: Record) -> None:
        """Adds the test accuracy of the epoch that `record` has just chosen."""
        self.model.eval()
        logits = self.model(self.task.features, self.whole)
        test = self.split.test
        found = (logits[test].argmax(1) == self.task.labels[test]).double().mean()
        record.epochs[-1] = record.epochs[-1]._replace(test_accuracy=float(found))
