"""Which nodes train, validate and test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

SplitRule = Literal["20-500-1000", "20-30-rest", "10-10-80", "fixed"]
SPLIT_RULES: tuple[SplitRule, ...] = ("20-500-1000", "20-30-rest", "10-10-80", "fixed")
SPLIT_PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Node indices (int64) for training, model selection and testing; no node is in two.

    >>> from elasticgnn.data import Split
    >>> Split.from_lists({"train": [0, 1], "val": [2], "test": [3, 4, 5]}).sizes
    (2, 1, 3)
    """

    train: Tensor
    val: Tensor
    test: Tensor

    def __post_init__(self) -> None:
        for name, part in (("train", self.train), ("val", self.val), ("test", self.test)):
            if part.ndim != 1 or part.dtype != torch.int64:
                raise ValueError(f"{name} must be (k,) int64, got {tuple(part.shape)} {part.dtype}")
        every = torch.cat([self.train, self.val, self.test])
        if len(every) and int(every.min()) < 0:
            raise ValueError(f"split must hold node indices >= 0, got {int(every.min())}")
        repeated = int(len(every) - torch.unique(every).numel())
        if repeated:
            raise ValueError(f"split must name each node once, got {repeated} repetitions")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many nodes train, validate and test."""
        return len(self.train), len(self.val), len(self.test)

    def to_lists(self) -> dict[str, list[int]]:
        """Plain lists, as stored with every result."""
        parts = {"train": self.train, "val": self.val, "test": self.test}
        return {name: part.tolist() for name, part in parts.items()}

    @classmethod
    def from_lists(cls, lists: dict[str, list[int]]) -> Split:
        """The split from lists of node numbers; ValueError if they hold anything else."""
        for name in SPLIT_PARTS:
            if not all(type(node) is int and node >= 0 for node in lists[name]):
                raise ValueError(f"{name} must be a list of node numbers, got something else")
        return cls(*(torch.tensor(lists[name], dtype=torch.int64) for name in SPLIT_PARTS))


def check_split(split: Split | None, rule: str, num_nodes: int) -> None:
    """Refuses an unknown rule, and a split that names nodes which do not exist."""
    if rule not in SPLIT_RULES:
        raise ValueError(f"split_rule must be one of {SPLIT_RULES}, got {rule!r}")
    if split is None:
        if rule == "fixed":
            raise ValueError("split must be given when split_rule is 'fixed', got None")
        return
    every = torch.cat([split.train, split.val, split.test])
    if len(every) and int(every.max()) >= num_nodes:
        raise ValueError(f"split must name nodes below {num_nodes}, got {int(every.max())}")
