"""A model on a partitioned task: forward and backward pass, weight gradients part by part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from elasticgnn.distributed.folder import PartFeatures, PartitionFolder
from elasticgnn.distributed.graph import DistributedGraph
from elasticgnn.distributed.loops import Loops
from elasticgnn.distributed.noise import PartNoise
from elasticgnn.distributed.ordered_sum import sum_over_parts
from elasticgnn.distributed.run import Run
from elasticgnn.distributed.stages import Local, Propagation, flat, stages_of
from elasticgnn.nn import ModelSettings
from elasticgnn.problem.step_sizes import step_sizes

SAVED_BYTES = 1 << 30  # of hidden rows in a process; where there are more, they are computed again
HIDDEN_BYTES = 9  # a hidden number, what dropout made of it, and whether it was dropped

Noises = list[PartNoise | None]


class Passed(NamedTuple):
    """What a stage of each node alone leaves for its gradient, part by part."""

    inputs: list[Tensor] | None  # None: the features
    outputs: list[Tensor] | None  # with their history; None: they are computed again


@dataclass(eq=False)
class Trace:
    """What the stages of a forward pass leave for their gradients."""

    noises: Noises
    stages: list[Passed | Run] = field(default_factory=list)


class PartedNetwork:
    """A model whose rows are divided among processes; its weights are the same in all of them."""

    def __init__(
        self,
        model: nn.Module,
        settings: ModelSettings,
        folder: PartitionFolder,
        graph: DistributedGraph,
    ) -> None:
        self.model, self.graph = model, graph
        self.stages = stages_of(model, settings)
        self.parts: list[PartFeatures] = [
            folder.features(number, nodes)
            for number, nodes in zip(graph.parts, by_part(graph.nodes, graph), strict=True)
        ]
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        hidden = settings.hidden_channels * (settings.num_layers - 1)
        # whether rows between the layers of a stage are computed again
        self.recomputes = HIDDEN_BYTES * graph.num_owned * hidden > SAVED_BYTES

    def forward(self, seed: int | None, epoch: int = 0) -> tuple[list[Tensor], Trace]:
        """The last stage's rows, one tensor per part; with a seed as in training, with dropout."""
        self.model.train(seed is not None)
        noises: Noises = [
            None if seed is None else PartNoise(seed, epoch, part=part) for part in self.parts
        ]
        trace = Trace(noises)
        rows: list[Tensor] | None = None
        for stage in self.stages:
            if isinstance(stage, Propagation):
                assert rows is not None  # no model begins with one
                rows = self._propagate(stage, rows, trace)
            else:
                rows = self._locally(stage, rows, trace)
        return rows or [], trace

    def _propagate(self, stage: Propagation, rows: list[Tensor], trace: Trace) -> list[Tensor]:
        """One stage over the whole graph; empties `rows`."""
        gradient, like = torch.is_grad_enabled(), rows[0].detach()
        sizes = step_sizes(stage.penalty, self.graph.norm_bound, like)
        with torch.no_grad():
            loops = Loops(self.graph, stage.penalty.edge_penalty, sizes, like.shape[1])
            run = Run(loops, stage.steps)
            del like
            out = run.forward(rows, gradient=gradient)
        if gradient:
            trace.stages.append(run)
        return by_part(out, self.graph)

    def _locally(self, stage: Local, rows: list[Tensor] | None, trace: Trace) -> list[Tensor]:
        """One stage part by part: the same small products, whoever holds a part."""
        gradient = torch.is_grad_enabled()
        inputs = None if rows is None else [part.detach() for part in rows]
        for part in inputs or []:
            part.requires_grad_(gradient)
        used = [part.rows for part in self.parts] if inputs is None else inputs
        with torch.set_grad_enabled(gradient and not self.recomputes):
            outputs = [stage(part, noise) for part, noise in zip(used, trace.noises, strict=True)]
        if gradient:
            trace.stages.append(Passed(inputs, None if self.recomputes else list(outputs)))
        return outputs

    def backward(self, trace: Trace, grads: list[Tensor]) -> None:
        """Sets the weights' gradients: added up over each part, then over all parts in order.

        Empties the trace and `grads`: what a stage has used is freed.
        """
        own = [torch.zeros(sum(p.numel() for p in self.parameters)) for _ in self.parts]
        for stage in reversed(self.stages):
            passed = trace.stages.pop()
            if isinstance(passed, Run):
                grads[:] = by_part(passed.backward(grads), self.graph)
                continue
            assert not isinstance(stage, Propagation)
            for k, noise in enumerate(trace.noises):
                rows = None if passed.inputs is None else passed.inputs[k]
                if passed.outputs is None:
                    out = stage(self.parts[k].rows if rows is None else rows, noise)
                else:
                    out = passed.outputs[k]
                grads[k] = self._part_backward(out, rows, grads[k], own[k])
        total = sum_over_parts(torch.stack(own), self.graph)
        sizes = [p.numel() for p in self.parameters]
        for parameter, grad in zip(self.parameters, torch.split(total, sizes), strict=True):
            parameter.grad = grad.view_as(parameter).clone()

    def _part_backward(self, out: Tensor, rows: Tensor | None, grad: Tensor, own: Tensor) -> Tensor:
        """The gradient of a part's rows; that of the weights is added to `own`."""
        wanted = [*self.parameters, *([] if rows is None else [rows])]
        found = torch.autograd.grad(out, wanted, grad, allow_unused=True, materialize_grads=True)
        own += flat(list(found[: len(self.parameters)]))
        return grad if rows is None else found[-1]


def by_part(rows: Tensor, graph: DistributedGraph) -> list[Tensor]:
    """Rows of this process, one tensor per part."""
    return list(torch.split(rows, list(graph.part_sizes)))
