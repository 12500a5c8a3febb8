"""What came out of tuning: who was compared, who won, and what the winner is worth."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from elasticgnn.nn import ModelSettings
from elasticgnn.training.model.trained_model import TrainedModel
from elasticgnn.training.tuning.metrics import Metric


@dataclass(frozen=True)
class Estimate:
    """A measure on nodes that had no part in any choice, with its 95 % interval."""

    value: float
    low: float
    high: float
    nodes: int


@dataclass(frozen=True)
class Entry:
    """The best settings of a family by cross-validation, and their measure on the holdout.

    members: networks that differ in seed and whose mean is meant; folds: those it was measured on.
    A family below the median of the first fold is given up there and stands behind all others.
    """

    family: str
    settings: ModelSettings | None
    validation: float
    deviation: float
    tried: int
    held_out: Estimate | None = None
    members: int = 1
    folds: int = 0


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Families, best first by cross-validation; the winner refitted on all known nodes.

    estimate, calibration_error, coverage (of sets asked to hold the class of 90 %) and report are
    measured on the holdout; a regression has intervals in place of sets, and no calibration error.
    coverage_range: where chance alone lets the coverage of right sets lie, in 19 of 20 cases.
    majority: of the most frequent class, or of the mean. graph_gain: winner with the graph less
    the best model without it (or the best with it less the winner without), on the holdout, None
    where only one kind was there. curves: of the winner's training on each fold. folds_left_out:
    those of the cross-validation for which there was no time.
    """

    metric: Metric
    entries: tuple[Entry, ...]
    winner: TrainedModel
    estimate: Estimate
    majority: float
    graph_gain: Estimate | None
    calibration_error: float | None
    coverage: float
    coverage_range: tuple[float, float]
    report: dict[str, Any]
    seconds: float
    curves: tuple[dict[str, Any], ...] = ()
    folds_left_out: int = 0

    @property
    def beats_majority(self) -> bool:
        """Whether the estimate is above the largest class's share."""
        return self.estimate.value > self.majority

    def to_json(self) -> dict[str, Any]:
        """Everything but the model, as plain values."""
        names = (
            "metric",
            "majority",
            "beats_majority",
            "calibration_error",
            "coverage",
            "coverage_range",
            "report",
            "seconds",
            "folds_left_out",
        )
        plain = {name: getattr(self, name) for name in names}
        gain = None if self.graph_gain is None else asdict(self.graph_gain)
        return {
            **plain,
            "estimate": asdict(self.estimate),
            "graph_gain": gain,
            "entries": [asdict(entry) for entry in self.entries],
            "curves": list(self.curves),
        }
