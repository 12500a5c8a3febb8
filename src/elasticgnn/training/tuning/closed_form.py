"""Candidates without training epochs: logistic regression and label propagation."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from elasticgnn.data import NodeTask
from elasticgnn.data.task import feature_rows
from elasticgnn.extras import optional_imports
from elasticgnn.features import SparseFeatures
from elasticgnn.nn import ModelSettings
from elasticgnn.training.make_model import make_model
from elasticgnn.training.tuning.candidates import Candidate

LOGISTIC = "logistic regression"
LOGISTIC_HOPS = "logistic regression on hops"
PROPAGATION = "label propagation"
RIDGE = "ridge"
RIDGE_HOPS = "ridge on hops"
NEIGHBOURS = "neighbour average"
CLOSED_FORM = (LOGISTIC, LOGISTIC_HOPS, PROPAGATION, RIDGE, RIDGE_HOPS, NEIGHBOURS)
RIDGES = (1.0, 100.0)  # weight decay of ridge regression
MOST_ROWS = 20_000  # nodes that logistic regression looks at
UNSEEN = -20.0  # logit of a class without a training node


def closed_form_candidates(*, has_features: bool, hops: int = 0) -> list[Candidate]:
    """Logistic regression, also on hops, and label propagation at a few reaches and gains."""
    linear = ModelSettings("mlp", num_layers=1, dropout=0.0)
    steps = ModelSettings(num_layers=1, dropout=0.0, lambda1=0.0)
    found = [Candidate(LOGISTIC, linear)] if has_features else []
    found += [Candidate(LOGISTIC_HOPS, linear, hops=reach) for reach in range(1, hops + 1)]
    for lambda2 in (1.0, 9.0):
        for gain in (3.0, 10.0, 30.0):
            settings = replace(steps, lambda2=lambda2)
            found.append(Candidate(PROPAGATION, settings, by_id=True, gain=gain))
    return found


def number_candidates(*, has_features: bool, hops: int = 0) -> list[Candidate]:
    """Ridge regression, also on hops, and averages of the neighbours' numbers."""
    linear = ModelSettings("mlp", num_layers=1, dropout=0.0)
    steps = ModelSettings(num_layers=1, dropout=0.0, lambda1=0.0)
    found = [Candidate(RIDGE, linear, gain=decay) for decay in RIDGES] if has_features else []
    for reach in range(1, hops + 1):
        found += [Candidate(RIDGE_HOPS, linear, gain=decay, hops=reach) for decay in RIDGES]
    for lambda2 in (1.0, 9.0):
        for gain in (0.5, 1.0, 2.0):
            settings = replace(steps, lambda2=lambda2)
            found.append(Candidate(NEIGHBOURS, settings, by_id=True, gain=gain))
    return found


def is_closed_form(candidate: Candidate) -> bool:
    """Whether the candidate is fitted without epochs."""
    return candidate.family in CLOSED_FORM


def fit_closed_form(candidate: Candidate, task: NodeTask, train: Tensor) -> nn.Module:
    """The model of `candidate`, its weights computed from the classes of `train`."""
    if candidate.family in (LOGISTIC, LOGISTIC_HOPS):
        return logistic(candidate.settings, task, train)
    if candidate.family in (RIDGE, RIDGE_HOPS):
        return ridge(candidate, task, train)
    if candidate.family == NEIGHBOURS:
        return neighbour_average(candidate, task, train)
    return propagation(candidate, task, train)


def logistic(settings: ModelSettings, task: NodeTask, train: Tensor) -> nn.Module:
    """A linear softmax model with scikit-learn's weights."""
    with optional_imports():
        from sklearn.linear_model import LogisticRegression
    rows = train[torch.linspace(0, len(train) - 1, min(len(train), MOST_ROWS)).long()]
    features = feature_rows(task.features, rows)
    x = features.to_scipy() if isinstance(features, SparseFeatures) else features.numpy()
    regression = LogisticRegression(max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged is good enough to be compared
        regression.fit(x, task.labels[rows].numpy())
    weight, bias = regression.coef_, regression.intercept_
    if len(weight) == 1:
        weight, bias = np.vstack([0 * weight, weight]), np.array([0.0, bias[0]])
    model = make_model(settings, task, torch.Generator())
    with torch.no_grad():
        parts = dict(model.named_parameters())
        parts["first.weight"].zero_()
        parts["first.bias"].fill_(UNSEEN)
        parts["first.weight"][:, regression.classes_] = torch.from_numpy(weight.T).float()
        parts["first.bias"][regression.classes_] = torch.from_numpy(bias).float()
    return model.eval()


def ridge(candidate: Candidate, task: NodeTask, train: Tensor) -> nn.Module:
    """A linear model with scikit-learn's weights."""
    with optional_imports():
        from sklearn.linear_model import Ridge
    assert task.values is not None
    rows = train[torch.linspace(0, len(train) - 1, min(len(train), MOST_ROWS)).long()]
    features = feature_rows(task.features, rows)
    x = features.to_scipy() if isinstance(features, SparseFeatures) else features.numpy()
    regression = Ridge(candidate.gain).fit(x, task.values[rows].numpy())
    model = make_model(candidate.settings, task, torch.Generator())
    with torch.no_grad():
        parts = dict(model.named_parameters())
        parts["first.weight"][:, 0] = torch.from_numpy(regression.coef_).float()
        parts["first.bias"].fill_(float(regression.intercept_))
    return model.eval()


def neighbour_average(candidate: Candidate, task: NodeTask, train: Tensor) -> nn.Module:
    """Each training node says its number, the others 0, the mean of all.

    What arrives shrinks with the share of nodes that say something: the gain is for all of them
    and grows as they become fewer, else that of the folds would be too large for all known nodes.
    """
    assert task.values is not None
    model = make_model(candidate.settings, task, torch.Generator())
    gain = candidate.gain * task.num_nodes / max(len(train), 1)
    with torch.no_grad():
        parts = dict(model.named_parameters())
        parts["backbone.first.weight"].zero_()
        parts["backbone.first.weight"][train, 0] = gain * task.values[train].float()
        parts["backbone.first.bias"].zero_()
    return model.eval()


def propagation(candidate: Candidate, task: NodeTask, train: Tensor) -> nn.Module:
    """Each training node says its class, `gain` times as loud as the log shares of the classes."""
    model = make_model(candidate.settings, task, torch.Generator())
    share = torch.bincount(task.labels[train], minlength=task.num_classes) / len(train)
    with torch.no_grad():
        parts = dict(model.named_parameters())
        parts["backbone.first.weight"].zero_()
        parts["backbone.first.weight"][train, task.labels[train]] = candidate.gain
        parts["backbone.first.bias"].copy_(share.clamp(min=1e-9).log())
    return model.eval()
