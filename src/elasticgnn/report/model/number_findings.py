"""What a model of numbers finds at every node and edge of a task: all that its page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.attack.number_suspicion import NumberEdgeScores, score_number_edges
from elasticgnn.data import NodeTask
from elasticgnn.report.model.evidence import of_any_board
from elasticgnn.training import TrainedModel
from elasticgnn.training.model.roles import node_roles
from elasticgnn.training.prediction.predict import NumberPrediction

COVERAGE = 0.9
NOTE = (
    "The score ranks how far the numbers at the two ends of an edge are apart: known ones, else "
    "what the model says."
)


@dataclass(frozen=True, eq=False)
class NumberFindings:
    """A trained model of numbers on a task.

    half: of the interval's width.
    """

    trained: TrainedModel
    task: NodeTask
    prediction: NumberPrediction
    edges: NumberEdgeScores
    roles: list[str] | None
    half: float

    @property
    def ids(self) -> list[str]:
        """The name of each node as text."""
        return [str(node) for node in self.task.ids]

    @property
    def unit(self) -> tuple[float, float]:
        """Mean and deviation of the numbers that the model was trained on."""
        return self.trained.unit or (0.0, 1.0)

    @property
    def known(self) -> Tensor:
        """The known numbers (n,), NaN where there is none."""
        unknown = torch.full((self.task.num_nodes,), torch.nan, dtype=torch.float64)
        return unknown if self.task.values is None else self.task.values

    def span(self) -> dict[str, Any]:
        """What the page must know of all numbers together."""
        known = self.known[~self.known.isnan()]
        ends = (float(known.min()), float(known.max())) if len(known) else (None, None)
        value = self.prediction.value
        return {
            "mean": self.unit[0],
            "spread": self.unit[1],
            "half": self.half,
            "low": float(value.min()) if len(value) else 0.0,
            "high": float(value.max()) if len(value) else 0.0,
            "moved": float(self.prediction.moved.max()) if len(value) else 0.0,
            "known": len(known),
            "known_low": ends[0],
            "known_high": ends[1],
        }

    def node_arrays(self) -> dict[str, NDArray[Any]]:
        """Known number, predicted number, and how far neighbours moved it; in deviations from the
        mean, since numbers may be too large for 32 bits, or too near to each other."""
        mean, spread = self.unit
        parts = {
            "known": (self.known - mean) / spread,
            "value": (self.prediction.value - mean) / spread,
            "moved": self.prediction.moved / spread,
        }
        return {name: part.numpy().astype(np.float32) for name, part in parts.items()}


def find_numbers(trained: TrainedModel, task: NodeTask) -> NumberFindings:
    """The findings of `trained`, a model of numbers, on `task`."""
    prediction, edges = trained.predict_numbers(task), score_number_edges(trained, task)
    half = trained.half_width(COVERAGE)
    roles = node_roles(trained, task)
    return NumberFindings(trained, task, prediction, edges, roles, half)


def number_evidence(findings: NumberFindings) -> dict[str, Any]:
    """Of a tuned model of numbers; hardly anything of others."""
    facts = findings.trained.facts
    if not facts.get("leaderboard"):
        return {"curves": [], "curve_title": "fold"}
    report = facts["leaderboard"]["report"]
    return {
        **of_any_board(facts),
        "measures": {name: value for name, value in report.items() if name != "pairs"},
        "pairs": report.get("pairs"),
    }
