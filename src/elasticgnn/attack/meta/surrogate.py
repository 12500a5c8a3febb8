"""The linear surrogate of a task, with the labels and the loss that the attacker works with."""

import torch
from scipy.sparse import csr_array
from torch import Tensor

from elasticgnn.attack.meta.gradient import AttackLoss, Surrogate, View, predict, view_of
from elasticgnn.attack.meta.inner import train
from elasticgnn.attack.meta.settings import MetattackSettings
from elasticgnn.data import NodeTask, Split
from elasticgnn.features import SparseFeatures

LABELLING_RUNS = 5  # trainings whose mean prediction labels the unlabelled nodes


def build_surrogate(
    task: NodeTask,
    split: Split,
    adjacency: csr_array,
    settings: MetattackSettings,
    generator: torch.Generator,
) -> Surrogate:
    """The surrogate on the untouched graph; unlabelled nodes get its own predictions as labels."""
    dtype = getattr(torch, settings.dtype)
    features = surrogate_features(task, settings)
    labelled = split.train.sort().values
    eye = torch.eye(task.num_classes, dtype=dtype)
    target = eye[task.labels[labelled]]
    silent = AttackLoss(eye.new_zeros(1, 1), eye.new_zeros(1))
    transposed = csr_array(features.T)
    plain = Surrogate(features, transposed, labelled.numpy(), target, silent, settings.inner)
    guess = pseudo_labels(view_of(adjacency, plain), plain, generator)
    guess[labelled] = task.labels[labelled]
    loss = attack_loss(eye[guess], labelled, settings)
    return Surrogate(features, transposed, plain.labelled, target, loss, settings.inner)


def surrogate_features(task: NodeTask, settings: MetattackSettings) -> csr_array:
    """The task's features as (n, f) CSR in the attack's precision."""
    given = task.features
    matrix = given if isinstance(given, SparseFeatures) else SparseFeatures.from_dense(given)
    features = matrix.to_scipy().astype(settings.dtype)
    sparse = 2 * features.nnz < features.shape[0] * features.shape[1]
    if settings.features == "binary" or (settings.features == "auto" and sparse):
        features.data[:] = 1
    return features


def pseudo_labels(view: View, surrogate: Surrogate, generator: torch.Generator) -> Tensor:
    """(n,) classes by the mean probability of a few trained surrogates."""
    total: Tensor | float = 0.0
    for _ in range(LABELLING_RUNS):
        first, second = draw_weights(surrogate, generator)
        record = train(view.gram, view.seen @ first, second, surrogate.target, surrogate.plan)
        total = total + torch.softmax(predict(view, surrogate, first, record)[1], 1)
    assert isinstance(total, Tensor)
    return total.argmax(1)


def attack_loss(target: Tensor, labelled: Tensor, settings: MetattackSettings) -> AttackLoss:
    """The loss over unlabelled nodes, labelled nodes, or half of each."""
    known = target.new_zeros(len(target))
    known[labelled] = 1 / len(labelled)
    unknown = (known == 0).to(target.dtype)
    unknown /= unknown.sum().clamp(min=1)
    weight = {"self": unknown, "train": known, "both": (known + unknown) / 2}
    return AttackLoss(target, weight[settings.objective], settings.loss)


def draw_weights(surrogate: Surrogate, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Fresh W1 (f, h) and W2 (h, c), uniform in a share of Glorot & Bengio's bounds."""
    hidden, scale = surrogate.plan.hidden_channels, surrogate.plan.weight_scale
    shapes = ((surrogate.features.shape[1], hidden), (hidden, surrogate.target.shape[1]))
    dtype = surrogate.target.dtype
    first, second = (
        # drawn in double precision so that both precisions start from the same numbers
        (torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1)
        .mul_(scale * (6 / sum(shape)) ** 0.5)
        .to(dtype)
        for shape in shapes
    )
    return first, second
