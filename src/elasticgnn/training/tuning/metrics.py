"""What probabilities are worth, by scikit-learn's measures; larger is better."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from elasticgnn.extras import optional_imports

Metric = Literal["accuracy", "balanced", "auc", "f1", "logloss", "r2", "mae", "rmse"]
SHARES: tuple[Metric, ...] = ("accuracy", "balanced", "auc", "f1")  # between 0 and 1
ERRORS: tuple[Metric, ...] = ("logloss", "mae", "rmse")  # stored with a minus: larger is better
METRICS: tuple[Metric, ...] = (*SHARES, "logloss")  # of class probabilities
NUMBER_METRICS: tuple[Metric, ...] = ("r2", "mae", "rmse")
EVEN: tuple[Metric, ...] = ("balanced", "f1")  # every class counts the same, however rare
# those that nodes of one class, or number, leave undefined, and what auto takes instead
INSTEAD: dict[Metric, Metric] = {"auc": "logloss", "r2": "mae"}
UNBALANCED = 0.3  # a smaller share of the rarer of two classes makes AUC the measure
Array = NDArray[Any]


def choose_metric(name: str, labels: Array) -> Metric:
    """The metric called `name`; auto: AUC for unbalanced two-class labels, else accuracy."""
    if name == "auto":
        counts = np.unique(labels, return_counts=True)[1]
        rare = len(counts) == 2 and counts.min() < UNBALANCED * counts.sum()
        return "auc" if rare else "accuracy"
    for metric in METRICS:
        if metric == name:
            return metric
    raise ValueError(f"metric must be auto or one of {METRICS}, got {name!r}")


def is_balanced(class_weights: str, metric: str) -> bool:
    """Whether every class weighs the same in the loss; auto: where it does in the metric."""
    if class_weights not in ("auto", "none", "balanced"):
        raise ValueError(f"class-weights must be auto, none or balanced, got {class_weights!r}")
    return class_weights == "balanced" or (class_weights == "auto" and metric in EVEN)


def score(metric: Metric, labels: Array, probability: Array) -> float:
    """The metric of class probabilities (n, classes); nan where it is not defined."""
    if metric in NUMBER_METRICS:
        return number_score(metric, labels, probability[:, 0])
    with optional_imports():
        from sklearn import metrics
    predicted, classes = probability.argmax(1), np.arange(probability.shape[1])
    if metric == "accuracy":
        return float((predicted == labels).mean())
    if metric == "balanced":
        return float(np.mean([(predicted[labels == k] == k).mean() for k in np.unique(labels)]))
    if metric == "f1":
        return float(metrics.f1_score(labels, predicted, average="macro", zero_division=0))
    if metric == "logloss":
        true = probability[np.arange(len(labels)), labels]
        return float(np.log(np.clip(true, 1e-12, 1)).mean())
    if len(np.unique(labels)) < 2:
        return float("nan")
    if len(classes) == 2:
        return float(metrics.roc_auc_score(labels, probability[:, 1]))
    areas = [
        metrics.roc_auc_score(labels == k, probability[:, k])
        for k in classes
        if 0 < (labels == k).sum() < len(labels)
    ]
    return float(np.mean(areas))


def choose_number_metric(name: str) -> Metric:
    """The metric of numbers called `name`; auto: R^2."""
    for metric in NUMBER_METRICS:
        if metric == name or (name == "auto" and metric == "r2"):
            return metric
    raise ValueError(f"metric must be auto or one of {NUMBER_METRICS} for numbers, got {name!r}")


def number_score(metric: Metric, truth: Array, predicted: Array) -> float:
    """R^2, or the mean absolute or root mean squared error with the sign that makes less better."""
    if metric == "mae":
        return -float(np.abs(truth - predicted).mean())
    squared = float(((truth - predicted) ** 2).mean())
    if metric == "rmse":
        return -float(np.sqrt(squared))
    spread = float(truth.var())
    return 1 - squared / spread if spread > 0 else float("nan")


def calibration_error(labels: Array, probability: Array, bins: int = 10) -> float:
    """Mean distance of confidence and accuracy over bins of equal confidence width, weighted."""
    parts = reliability(labels, probability, bins)
    distances = [part["nodes"] * abs(part["confidence"] - part["accuracy"]) for part in parts]
    return sum(distances) / max(len(labels), 1)


def reliability(labels: Array, probability: Array, bins: int = 10) -> list[dict[str, float]]:
    """Confidence, accuracy and number of nodes of each filled bin of equal confidence width."""
    confidence, right = probability.max(1), probability.argmax(1) == labels
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    inside = [place == k for k in np.unique(place)]
    return [
        {
            "confidence": float(confidence[part].mean()),
            "accuracy": float(right[part].mean()),
            "nodes": int(part.sum()),
        }
        for part in inside
    ]


def score_gap(metric: Metric, labels: Array, one: Array, other: Array) -> float:
    """The metric of `one` less that of `other`; 0 where rounding alone tells them apart."""
    here, there = score(metric, labels, one), score(metric, labels, other)
    return 0.0 if math.isclose(here, there) else here - there


def unseen(labels: Array, *, is_perfect: bool, metric: Metric) -> float:
    """What may be lost in errors of a kind that was not seen yet, by the rule of three.

    A perfect AUC of five positive nodes says no more than that none of five was out of order.
    """
    if metric == "accuracy" or not is_perfect:
        return 3 / len(labels)
    counts = np.unique(labels, return_counts=True)[1]
    classes = 1 if metric == "auc" and len(counts) == 2 else len(counts)  # of which it is a mean
    return float(min(1.0, 3 / counts.min()) / classes)


def interval(
    metric: Metric, labels: Array, probability: Array, rng: np.random.Generator
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the metric over the nodes, widened to be one of few nodes."""
    count, draws = len(labels), 300
    samples = (rng.integers(0, count, count) for _ in range(draws))
    values = [score(metric, labels[nodes], probability[nodes]) for nodes in samples]
    low, high = np.nanpercentile(values, [2.5, 97.5])
    middle = score(metric, labels, probability)
    widen = np.sqrt(count / max(count - 1, 1)) + 1 / np.sqrt(count)
    bounds = (middle - widen * (middle - low), middle + widen * (high - middle))
    least = unseen(labels, is_perfect=middle == 1, metric=metric) if metric in SHARES else 0.0
    bottom, top = 0.0 if metric in SHARES else -np.inf, 0.0 if metric in ERRORS else 1.0
    low, high = min(bounds[0], middle - least), max(bounds[1], middle + least)
    return float(max(low, bottom)), float(min(high, top))
