"""Flips of words and of training labels in a comparison, beside those of edges."""

import copy
import math
import time

from torch import Tensor, nn

from elasticgnn.attack.other_flips import dense_features, flip_features, flip_labels
from elasticgnn.attack.victim import NoEdgeGradientError, Victim
from elasticgnn.data import NodeTask
from elasticgnn.defence import Jaccard
from elasticgnn.robustness.contest import Contest


def flip_kind(contest: Contest, kind: str, rate: float) -> None:
    """Rows of one kind of flips other than edges."""
    (flip_words if kind == "features" else flip_classes)(contest, rate)


def flip_words(contest: Contest, rate: float) -> None:
    """Every model on the words that are flipped through every model, `rate` of the test nodes'."""
    task = contest.task
    count = math.floor(rate * words_at(task, contest.nodes) + 1e-9)
    for each in contest.plan.models:
        empty = contest.row(rate, "features", each.name, "itself")
        if empty.key in contest.rows:
            continue
        model, began = contest.trained[each.name], time.process_time()
        try:
            changed = flip_features(task, contest.nodes, count, model)
        except NoEdgeGradientError:
            contest.put_none(empty, "features")
            continue
        flips = int((dense_features(changed) != dense_features(task)).sum())
        models = {name: fed(one, changed) for name, one in contest.trained.items()}
        contest.put(empty, flips, began, contest.accuracies(changed, models))


def words_at(task: NodeTask, nodes: Tensor) -> int:
    """How many words the nodes have together."""
    return int((dense_features(task)[nodes] != 0).sum())


def fed(model: nn.Module, task: NodeTask) -> nn.Module:
    """The model as it predicts on the task: Jaccard cleaning looks at the words that are there."""
    if not isinstance(model, Jaccard):
        return model
    other = copy.deepcopy(model)
    other.compare(task.features)
    return other


def flip_classes(contest: Contest, rate: float) -> None:
    """Every model trained anew with a share `rate` of the training labels changed at random."""
    empty, began = contest.row(rate, "labels"), time.process_time()
    if empty.key in contest.rows:
        return
    changed = flip_labels(contest.task, contest.split, rate, contest.generator())
    after = {}
    for each in contest.plan.models:
        model = each.train(changed, contest.split, contest.plan.training, contest.seed)
        victim = Victim(model, contest.task, contest.split.test)
        after[each.name] = victim.accuracy(contest.task.graph)
    flips = int((changed.labels != contest.task.labels).sum())
    contest.put(empty, flips, began, after)
