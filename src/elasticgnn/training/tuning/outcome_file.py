"""Outcomes of a comparison on disk, so that one that was interrupted can go on."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from elasticgnn.data.npz import read_arrays
from elasticgnn.files import write_whole
from elasticgnn.nn import ModelSettings
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.tuning.outcome import Outcome


class OutcomeFile:
    """What was measured for a comparison called `key`; another comparison's file is refused."""

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key
        self.outcomes: list[Outcome] = self.read() if path.exists() else []

    def find(self, candidate: Candidate, folds: int) -> Outcome | None:
        """The outcome of a candidate on so many folds, unless its time had cut it short."""
        whole = (o for o in self.outcomes if len(o.scores) == folds and not o.is_cut)
        return next((outcome for outcome in whole if outcome.candidate == candidate), None)

    @property
    def most_folds(self) -> int:
        """The most folds that anything was measured on."""
        return max((len(outcome.scores) for outcome in self.outcomes), default=0)

    def add(self, outcomes: list[Outcome]) -> None:
        """Writes the file with these outcomes, too."""
        self.outcomes += outcomes
        arrays: dict[str, Any] = {}
        for number, outcome in enumerate(self.outcomes):
            arrays[f"nodes_{number}"] = outcome.nodes
            arrays[f"probability_{number}"] = outcome.probability
        about = {"key": self.key, "outcomes": [described(o) for o in self.outcomes]}
        file = io.BytesIO()
        np.savez(file, about=np.array(json.dumps(about)), **arrays)
        write_whole(self.path, file.getvalue())

    def read(self) -> list[Outcome]:
        """The outcomes of the file."""
        try:
            arrays = read_arrays(self.path)
            about = json.loads(str(arrays["about"]))
            if about["key"] != self.key:
                raise ValueError("a comparison of other data or settings")
            return [
                outcome_of(part, arrays[f"nodes_{k}"], arrays[f"probability_{k}"])
                for k, part in enumerate(about["outcomes"])
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self.path} must be what this comparison left behind, got: {error} (delete it)"
            ) from None


def described(outcome: Outcome) -> dict[str, Any]:
    """Everything but the arrays, as plain values."""
    return {
        "candidate": asdict(outcome.candidate),
        "scores": outcome.scores,
        "epochs": outcome.epochs,
        "is_cut": outcome.is_cut,
        "curves": outcome.curves,
        "seconds": outcome.seconds,
    }


def outcome_of(part: dict[str, Any], nodes: Any, probability: Any) -> Outcome:
    """The outcome of its description and arrays."""
    words = part["candidate"]
    candidate = Candidate(
        words["family"],
        ModelSettings(**words["settings"]),
        TrainingPlan(**words["plan"]),
        words["by_id"],
        words["shrinkage"],
        words.get("hops", 0),
    )
    scores, curves = tuple(part["scores"]), tuple(part["curves"])
    return Outcome(
        candidate,
        scores,
        nodes,
        probability,
        part["epochs"],
        part["is_cut"],
        curves,
        part["seconds"],
    )
