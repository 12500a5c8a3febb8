"""Runs trained side by side: their weights in one block, one call of a compiled loop for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import drop_threshold
from elasticgnn.graph import Graph
from elasticgnn.kernels import native
from elasticgnn.nn.adjacency import GraphMatrix, prepare_normalized
from elasticgnn.training.population.feature_orders import FeatureOrders, addresses
from elasticgnn.training.population.run import Run

LANES = 16
# What the models call first layer, its bias, second layer, its bias.
PREFIX = "backbone."
ELASTIC_NAMES = tuple(
    PREFIX + name for name in ("first.weight", "first.bias", "others.0.weight", "others.0.bias")
)
GCN_NAMES = ("linear.weight", "first.bias", "second.lin.weight", "second.bias")


@dataclass(frozen=True)
class Shape:
    """Sizes of a two-layer network; `width` is `hidden` padded to whole registers."""

    features: int
    hidden: int
    classes: int
    names: tuple[str, ...] = ELASTIC_NAMES

    @property
    def width(self) -> int:
        """The hidden channels, filled up to whole vectors."""
        return -(-self.hidden // LANES) * LANES

    @property
    def stride(self) -> int:
        """Floats in the block of one run."""
        return (self.features + 1 + self.classes) * self.width + -(-self.classes // LANES) * LANES

    def parts(self, block: Tensor) -> dict[str, Tensor]:
        """The parameters inside a block (stride,), as views under their names in the model."""
        sizes = [self.features * self.width, self.width, self.classes * self.width, self.classes]
        first, bias, second, second_bias = torch.split(block[: sum(sizes)], sizes)
        views = (
            first.view(self.features, self.width)[:, : self.hidden],
            bias[: self.hidden],
            second.view(self.classes, self.width)[:, : self.hidden],
            second_bias,
        )
        return dict(zip(self.names, views, strict=True))


class Batch:
    """The moving state of some runs: weights, moments of Adam, buffers of one epoch.

    `matrix` is what GCN multiplies both layers by; None for perceptrons.
    """

    def __init__(
        self,
        orders: FeatureOrders,
        shape: Shape,
        runs: Sequence[Run],
        weights: Sequence[dict[str, Tensor]],
        noise_seeds: Sequence[int],
        matrix: SparseFeatures | None = None,
    ) -> None:
        self.orders = orders
        self.matrix = matrix
        self.shape = shape
        self.weights = torch.zeros(len(runs), shape.stride)
        for block, values in zip(self.weights, weights, strict=True):
            for name, part in shape.parts(block).items():
                part.copy_(values[name])
        self.moments = torch.zeros(2, len(runs), shape.stride)
        self.seed = np.array(noise_seeds, dtype=np.uint64)
        self.threshold = np.array([drop_threshold(run.dropout) for run in runs], dtype=np.uint32)
        self.scale = per_run([1 / (1 - run.dropout) for run in runs])
        self.learning_rate = per_run([run.learning_rate for run in runs])
        self.weight_decay = per_run([run.weight_decay for run in runs])
        self._bind()

    def _bind(self) -> None:
        """Buffers for the present number of runs, and the addresses for the compiled loops."""
        assert native is not None
        runs, shape, orders = len(self.weights), self.shape, self.orders
        self.logits = torch.empty(orders.nodes, runs, shape.classes)
        self.activation = torch.empty(runs, orders.nodes, shape.width)
        constants = (self.seed, self.threshold, self.scale)
        self._convolution = self._bind_matrix()
        self._perceptrons = native.Perceptrons(
            runs,
            shape.features,
            shape.width,
            shape.classes,
            shape.stride,
            shape.hidden,
            self.weights.data_ptr(),
            *(part.ctypes.data for part in constants),
            self._convolution,
        )
        self._adam = native.Adam(
            *(moment.data_ptr() for moment in self.moments),
            self.learning_rate.ctypes.data,
            self.weight_decay.ctypes.data,
        )

    def _bind_matrix(self) -> Any:
        """GCN's matrix with the memory for what it is multiplied by; nothing for perceptrons."""
        assert native is not None
        if self.matrix is None:
            return native.Convolution(native.SparseRows(0, 0, 0, 0, 0), 0, 0)
        self.mixed = torch.empty_like(self.activation)
        self.linear = torch.empty_like(self.logits)
        rows = native.SparseRows(len(self.matrix), *addresses(self.matrix), 0)
        return native.Convolution(rows, self.mixed.data_ptr(), self.linear.data_ptr())

    def __len__(self) -> int:
        return len(self.weights)

    def state(self, position: int) -> dict[str, Tensor]:
        """A copy of one run's weights under their names in the model."""
        parts = self.shape.parts(self.weights[position])
        return {name: part.clone() for name, part in parts.items()}

    def select(self, positions: list[int]) -> None:
        """Leaves only the runs at `positions`."""
        self.weights = self.weights[positions]
        self.moments = self.moments[:, positions].contiguous()
        self.seed, self.threshold = self.seed[positions], self.threshold[positions]
        self.scale, self.learning_rate = self.scale[positions], self.learning_rate[positions]
        self.weight_decay = self.weight_decay[positions]
        self._bind()

    def forward(self, epoch: int | None = None) -> Tensor:
        """Logits (n, runs, classes), with the dropout of `epoch` or, for None, without any."""
        assert native is not None
        native.perceptrons_forward(
            self._perceptrons,
            self.orders.rows,
            0 if epoch is None else self.activation.data_ptr(),
            self.logits.data_ptr(),
            epoch or 0,
            torch.get_num_threads(),
        )
        return self.logits

    def step(self, grad: Tensor, epoch: int) -> None:
        """One step of Adam from the gradient of the logits of `forward(epoch)`."""
        assert native is not None
        grad = grad.contiguous()
        native.perceptrons_step(
            self._perceptrons,
            self.orders.columns,
            self.activation.data_ptr(),
            grad.data_ptr(),
            self.orders.nodes,
            self._adam,
            epoch,
            torch.get_num_threads(),
        )


def per_run(values: list[float]) -> NDArray[np.float32]:
    """The values as float32, one per run."""
    return np.array(values, dtype=np.float32)


def normalized_matrix(graph: Graph) -> SparseFeatures:
    """What GCN multiplies both layers by; weights of the graph are no parameters of the model."""
    if graph.weight.requires_grad:
        graph = graph.with_weight(graph.weight.detach())
    prepared = prepare_normalized(graph)
    assert isinstance(prepared, GraphMatrix)
    return prepared.matrix
