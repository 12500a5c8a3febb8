"""What a model is worth on nodes it did not learn from, as its page shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from elasticgnn.report.model.findings import ModelFindings
from elasticgnn.training.model.roles import HELD_OUT
from elasticgnn.training.tuning.holdout import class_report, measures
from elasticgnn.training.tuning.metrics import SHARES, calibration_error, interval, score


def evidence(findings: ModelFindings) -> dict[str, Any]:
    """Estimate, leaderboard, confusion, reliability and curves; empty where nothing is known."""
    facts = findings.trained.facts
    return from_leaderboard(facts) if facts.get("leaderboard") else from_split(findings)


def from_leaderboard(facts: dict[str, Any]) -> dict[str, Any]:
    """Of a tuned model of classes."""
    board = facts["leaderboard"]
    report = board["report"]
    return {
        **of_any_board(facts),
        "calibration_error": board["calibration_error"],
        "confusion": report["confusion"],
        "classes": report["classes"],
        "reliability": report["reliability"],
        "measures": {name: report[name] for name in (*SHARES, "log_loss")},
    }


def of_any_board(facts: dict[str, Any]) -> dict[str, Any]:
    """Of any tuned model: all was measured on the holdout when it was tuned."""
    board, split = facts["leaderboard"], facts.get("split") or {}
    names = ("metric", "estimate", "majority", "graph_gain", "coverage", "curves")
    fate = "was not trained on them" if split.get("test") else "was then trained on all known nodes"
    return {
        **{name: board[name] for name in names},
        "coverage_range": board.get("coverage_range"),  # which older files lack
        "leaderboard": board["entries"],
        "how": "on nodes that had no part in the choice of model and settings; "
        f"the saved model {fate}",
        "curve_title": "fold",
    }


def from_split(findings: ModelFindings) -> dict[str, Any]:
    """Of a model trained with given settings: measured here on the nodes of its split held out."""
    facts = findings.trained.facts
    known: dict[str, Any] = {"curves": facts.get("curves", []), "curve_title": "split"}
    roles = findings.roles or []
    held = torch.tensor([role == HELD_OUT for role in roles], dtype=torch.bool)
    nodes = ((findings.task.labels >= 0) & held).nonzero().flatten() if len(held) else held
    if len(nodes) < 2:
        return known
    labels = findings.task.labels[nodes].numpy()
    probability = findings.prediction.probability[nodes].double().numpy()
    low, high = interval("accuracy", labels, probability, np.random.default_rng(0))
    counts = np.bincount(labels)
    return {
        **known,
        "metric": "accuracy",
        "how": "on the known nodes that the saved model did not train on "
        "(some of them chose its epoch, so that this is a little too kind)",
        "estimate": {
            "value": score("accuracy", labels, probability),
            "low": low,
            "high": high,
            "nodes": len(labels),
        },
        "majority": float(counts.max() / counts.sum()),
        "calibration_error": calibration_error(labels, probability),
        **class_report(labels, probability, findings.trained.class_names),
        "measures": measures(labels, probability),
        "repeated": facts.get("test"),
    }
