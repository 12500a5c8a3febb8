"""The votes of a classifier over many noisy graphs, with or without a denoiser before it."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from elasticgnn.attack.many_graphs import Predictor, predictor
from elasticgnn.certify.noise import SparseNoise
from elasticgnn.data import NodeTask
from elasticgnn.nn import ElasticGNN
from elasticgnn.operator.flipped import FlipLists

Votes = NDArray[np.int64]
BATCH = 256  # noisy graphs at a time


def count_votes(
    predict: Predictor,
    task: NodeTask,
    noise: SparseNoise,
    samples: int,
    random: np.random.Generator,
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> Votes:
    """(n, classes): how many of `samples` noisy graphs give each node each class.

    >>> from elasticgnn.certify import SparseNoise, count_votes
    >>> always_first = lambda flips: torch.zeros(len(flips.first) - 1, task.num_nodes)
    >>> random = np.random.default_rng(0)
    >>> count_votes(always_first, task, SparseNoise(), 5, random)[0].tolist()
    [5, 0]
    """
    if samples < 1:
        raise ValueError(f"samples must be >= 1, got {samples}")
    votes = np.zeros((task.num_nodes, task.num_classes), np.int64)
    done = 0
    while done < samples:
        count = min(BATCH, samples - done)
        label = predict(noise.sample(task.graph, count, random))
        for kind in range(task.num_classes):
            votes[:, kind] += (label == kind).sum(0).numpy()
        done += count
        progress(done)
    return votes


@torch.no_grad()
def denoising_predictor(
    model: nn.Module, task: NodeTask, threshold: float = 0.2, offset: Tensor | None = None
) -> Predictor:
    """Predictions after edges are dropped whose ends the model's own backbone keeps apart.

    An edge stays if its ends belong to one class with a chance of at least `threshold` by the
    backbone, which does not see the graph. So the classifier with its denoiser is one function
    of the noisy graph, and a certificate for it holds as for any other. offset: as of `predictor`.
    """
    if not isinstance(model, ElasticGNN):
        raise ValueError(f"model must be an ElasticGNN to denoise, got {type(model).__name__}")
    model.eval()
    chance = model.logits(task.features).softmax(1)

    def stays(pairs: Tensor) -> Tensor:
        ends = chance[pairs.long()]
        return (ends[:, 0] * ends[:, 1]).sum(1) >= threshold

    graph = task.graph
    dropped = torch.stack((graph.tail, graph.head), 1)
    dropped = dropped[~stays(dropped)]
    inner = predictor(model, task.with_graph(graph.with_edges_flipped(dropped)), offset)

    def predict(flips: FlipLists) -> Tensor:
        keep = stays(flips.pairs)
        counted = torch.cat((torch.zeros(1, dtype=torch.int64), keep.cumsum(0)))
        return inner(FlipLists(flips.pairs[keep].contiguous(), counted[flips.first].contiguous()))

    return predict
