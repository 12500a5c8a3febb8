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
from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.training.make_model import make_model
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.wrappers.label_average import LabelAverage

LOGISTIC = "logistic regression"
LOGISTIC_HOPS = "logistic regression on hops"
PROPAGATION = "label propagation"
RIDGE = "ridge"
RIDGE_HOPS = "ridge on hops"
NEIGHBOURS = "neighbour average"
CLOSED_FORM = (LOGISTIC, LOGISTIC_HOPS, PROPAGATION, RIDGE, RIDGE_HOPS, NEIGHBOURS)
RIDGES = (1.0, 100.0)  # weight decay of ridge regression
# weight of the known labels' mean, 1: as much as arrives on average; few labels of many classes
# need a prior to be calibrated, numbers do better with nearly none
PRIORS = {PROPAGATION: (0.1, 0.3, 1.0), NEIGHBOURS: (0.01, 0.1, 1.0)}
MOST_ROWS = 20_000  # nodes that logistic regression looks at
UNSEEN = -20.0  # logit of a class without a training node


def closed_form_candidates(*, has_features: bool, hops: int = 0) -> list[Candidate]:
    """Logistic regression, also on hops, and label propagation at a few reaches and priors."""
    linear = ModelSettings("mlp", num_layers=1, dropout=0.0)
    found = [Candidate(LOGISTIC, linear)] if has_features else []
    found += [Candidate(LOGISTIC_HOPS, linear, hops=reach) for reach in range(1, hops + 1)]
    return found + label_averages(PROPAGATION)


def number_candidates(*, has_features: bool, hops: int = 0) -> list[Candidate]:
    """Ridge regression, also on hops, and averages of the neighbours' numbers."""
    linear = ModelSettings("mlp", num_layers=1, dropout=0.0)
    found = [Candidate(RIDGE, linear, shrinkage=decay) for decay in RIDGES] if has_features else []
    for reach in range(1, hops + 1):
        found += [Candidate(RIDGE_HOPS, linear, shrinkage=decay, hops=reach) for decay in RIDGES]
    return found + label_averages(NEIGHBOURS)


def label_averages(family: str) -> list[Candidate]:
    """Averages of known labels near by and farther away, with weak and strong priors."""
    near = ModelSettings(num_layers=1, dropout=0.0, lambda1=0.0, lambda2=1.0, steps=10)
    far = replace(near, lambda2=9.0, steps=30)
    return [
        Candidate(family, settings, by_id=True, shrinkage=prior)
        for settings in (near, far)
        for prior in PRIORS[family]
    ]


def is_closed_form(candidate: Candidate) -> bool:
    """Whether the candidate is fitted without epochs."""
    return candidate.family in CLOSED_FORM


def fit_closed_form(candidate: Candidate, task: NodeTask, train: Tensor) -> nn.Module:
    """The model of `candidate`, its weights computed from the classes of `train`."""
    if candidate.family in (LOGISTIC, LOGISTIC_HOPS):
        return logistic(candidate.settings, task, train)
    if candidate.family in (RIDGE, RIDGE_HOPS):
        return ridge(candidate, task, train)
    return label_average(candidate, task, train)


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
    regression = Ridge(candidate.shrinkage).fit(x, task.values[rows].numpy())
    model = make_model(candidate.settings, task, torch.Generator())
    with torch.no_grad():
        parts = dict(model.named_parameters())
        parts["first.weight"][:, 0] = torch.from_numpy(regression.coef_).float()
        parts["first.bias"].fill_(float(regression.intercept_))
    return model.eval()


def label_average(candidate: Candidate, task: NodeTask, train: Tensor) -> nn.Module:
    """Each training node says its class, or its number, and that it is known."""
    outputs = label_columns(task, train)
    generator = torch.Generator()
    inner = build_model(candidate.settings, task.num_features, outputs.shape[1] + 1, generator)
    with torch.no_grad():
        parts = dict(inner.named_parameters())
        parts["backbone.first.weight"].zero_()
        parts["backbone.first.weight"][train, :-1] = outputs
        parts["backbone.first.weight"][train, -1] = 1.0
        parts["backbone.first.bias"].zero_()
    # of every node's answer so much arrives on average
    weight = candidate.shrinkage * max(len(train), 1) / task.num_nodes
    return LabelAverage(
        inner, outputs.mean(0), torch.tensor(weight), of_numbers=task.values is not None
    ).eval()


def label_columns(task: NodeTask, train: Tensor) -> Tensor:
    """1 for the class of a node and 0 for the others (k, classes), or its number (k, 1)."""
    if task.values is not None:
        return task.values[train].float()[:, None]
    return nn.functional.one_hot(task.labels[train], task.num_classes).float()
