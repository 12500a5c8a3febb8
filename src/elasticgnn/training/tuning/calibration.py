"""True probabilities: temperature and biases fitted on nodes that were not trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.training.prediction.predict import LEAST

Array = NDArray[Any]
MOST_ROWS = 20_000  # nodes that a calibration looks at


def fit_temperature(labels: Array, probability: Array) -> float:
    """The temperature whose probabilities have the smallest log loss of a fine grid."""
    logits = np.log(np.clip(probability, LEAST, 1))
    temperatures = np.geomspace(0.2, 5.0, 65)
    losses = [log_loss(labels, logits / temperature) for temperature in temperatures]
    return float(temperatures[int(np.argmin(losses))])


@dataclass(frozen=True)
class Calibration:
    """True probabilities are softmax(logits / temperature + bias), bias one number per class."""

    temperature: float = 1.0
    bias: tuple[float, ...] = ()

    def apply(self, probability: Array) -> Array:
        """Calibrated probabilities (n, classes)."""
        return cooled(probability, self.temperature, self.bias)


def fit_calibration(labels: Array, probability: Array) -> Calibration:
    """The temperature and biases of the smallest log loss on nodes that were not trained on.

    A temperature alone cannot mend classes that are predicted too often or too rarely. The biases
    have a normal prior of width 1, which decides where a class has few nodes. Of very many nodes
    some are enough.
    """
    from scipy.optimize import minimize

    some = np.linspace(0, len(labels) - 1, min(len(labels), MOST_ROWS)).astype(int)
    labels, probability = labels[some], probability[some]
    logits = np.log(np.clip(probability, LEAST, 1))
    count, classes = logits.shape
    truth = np.eye(classes)[labels]

    def loss(point: Array) -> tuple[float, Array]:
        cold, bias = np.exp(-point[0]), point[1:]
        predicted = cooled(probability, float(1 / cold), tuple(bias))
        wrong = (predicted - truth) / count
        value = log_loss(labels, logits * cold + bias) + (bias @ bias) / (2 * count)
        slope = -(wrong * logits).sum() * cold
        return value, np.concatenate([[slope], wrong.sum(0) + bias / count])

    start = np.zeros(classes + 1)
    start[0] = math.log(fit_temperature(labels, probability))
    limits = [(math.log(0.1), math.log(10.0)), *[(-5.0, 5.0)] * classes]
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits).x
    return Calibration(float(np.exp(best[0])), tuple(float(b) for b in best[1:]))


def cross_calibrated(labels: Array, probability: Array, group: Array) -> Array:
    """The probabilities of each group calibrated by the nodes of the other groups."""
    groups = np.unique(group)
    if len(groups) == 1:
        return fit_calibration(labels, probability).apply(probability)
    fair = np.empty_like(probability)
    for number in groups:
        own = group == number
        fair[own] = fit_calibration(labels[~own], probability[~own]).apply(probability[own])
    return fair


def log_loss(labels: Array, logits: Array) -> float:
    """Mean cross-entropy of the logits (n, c)."""
    highest = logits.max(1)
    total = highest + np.log(np.exp(logits - highest[:, None]).sum(1))
    return float((total - logits[np.arange(len(labels)), labels]).mean())


def cooled(probability: Array, temperature: float, bias: tuple[float, ...] = ()) -> Array:
    """softmax(logits / temperature + bias) of the logits behind `probability`."""
    logits = np.log(np.clip(probability, LEAST, 1)) / temperature + np.array(bias or 0.0)
    raised = np.exp(logits - logits.max(1, keepdims=True))
    shares: Array = raised / raised.sum(1, keepdims=True)
    return shares
