"""A model on a partitioned task: forward and backward pass, weight gradients part by part."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from elasticgnn.distributed.folder import PartFeatures, PartitionFolder
from elasticgnn.distributed.graph import DistributedGraph
from elasticgnn.distributed.noise import PartNoise
from elasticgnn.distributed.operator import elastic_message_passing
from elasticgnn.distributed.ordered_sum import sum_over_parts
from elasticgnn.distributed.stages import Local, Propagation, flat, stages_of
from elasticgnn.nn import ModelSettings

ROOMY = 1 << 30  # bytes of hidden rows in a process; where there are more, they are computed again
KEPT = 9  # bytes that a hidden number leaves: itself, what dropout made of it, and whether it fell

Noises = list[PartNoise | None]


@dataclass(eq=False)
class Trace:
    """Inputs and outputs of each stage: one of each per part, or one for a propagation."""

    noises: Noises
    inputs: list[list[Tensor | None]] = field(default_factory=list)
    outputs: list[list[Tensor]] = field(default_factory=list)


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
        self.parts: list[PartFeatures] = [folder.features(number) for number in graph.parts]
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        hidden = settings.hidden_channels * (settings.num_layers - 1)
        self.forgets = KEPT * graph.num_owned * hidden > ROOMY  # rows between layers of a stage

    def forward(self, seed: int | None, epoch: int = 0) -> Trace:
        """All stages; with a seed as in training, with dropout."""
        self.model.train(seed is not None)
        noises: Noises = [
            None if seed is None else PartNoise(seed, epoch, part=part) for part in self.parts
        ]
        trace = Trace(noises)
        rows: list[Tensor] = []
        for number, stage in enumerate(self.stages):
            if isinstance(stage, Propagation):
                rows = self._propagate(stage, rows, trace)
            else:
                rows = self._locally(stage, None if number == 0 else rows, trace)
        return trace

    def _propagate(self, stage: Propagation, rows: list[Tensor], trace: Trace) -> list[Tensor]:
        joined = torch.cat([part.detach() for part in rows])
        joined.requires_grad_(torch.is_grad_enabled())
        out = elastic_message_passing(joined, self.graph, stage.penalty, stage.steps)
        trace.inputs.append([joined])
        trace.outputs.append([out])
        return by_part(out, self.graph)

    def _locally(
        self,
        stage: Local,
        rows: list[Tensor] | None,
        trace: Trace,
    ) -> list[Tensor]:
        """One stage part by part: the same small products, whoever holds a part."""
        features = [part.rows for part in self.parts]
        inputs = None if rows is None else [part.detach() for part in rows]
        for part in inputs or []:
            part.requires_grad_(torch.is_grad_enabled())
        used = features if inputs is None else inputs
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.forgets):
            outputs = [stage(part, noise) for part, noise in zip(used, trace.noises, strict=True)]
        trace.inputs.append([None] * len(outputs) if inputs is None else list(inputs))
        trace.outputs.append(outputs)
        return outputs

    def logits(self, trace: Trace) -> list[Tensor]:
        """The last stage's rows, one tensor per part."""
        last = trace.outputs[-1]
        return by_part(last[0], self.graph) if self._joined(-1) else last

    def _joined(self, stage: int) -> bool:
        return isinstance(self.stages[stage], Propagation)

    def backward(self, trace: Trace, grads: list[Tensor]) -> None:
        """Sets the weights' gradients: added up over each part, then over all parts in order."""
        own = [torch.zeros(sum(p.numel() for p in self.parameters)) for _ in self.parts]
        for stage in reversed(range(len(self.stages))):
            if self._joined(stage):
                (joined,), (out,) = trace.inputs[stage], trace.outputs[stage]
                assert joined is not None
                (grad,) = torch.autograd.grad(out, joined, torch.cat(grads))
                grads = by_part(grad, self.graph)
                continue
            for k in range(len(self.parts)):
                out, rows = self._output(trace, stage, k), trace.inputs[stage][k]
                grads[k] = self._part_backward(out, rows, grads[k], own[k])
        total = sum_over_parts(torch.stack(own), self.graph)
        sizes = [p.numel() for p in self.parameters]
        for parameter, grad in zip(self.parameters, torch.split(total, sizes), strict=True):
            parameter.grad = grad.view_as(parameter).clone()

    def _output(self, trace: Trace, stage: int, part: int) -> Tensor:
        """A part's rows behind a local stage, with their history."""
        if not self.forgets:
            return trace.outputs[stage][part]
        rows, local = trace.inputs[stage][part], self.stages[stage]
        assert not isinstance(local, Propagation)
        return local(self.parts[part].rows if rows is None else rows, trace.noises[part])

    def _part_backward(self, out: Tensor, rows: Tensor | None, grad: Tensor, own: Tensor) -> Tensor:
        """The gradient of a part's rows; that of the weights is added to `own`."""
        wanted = [*self.parameters, *([] if rows is None else [rows])]
        found = torch.autograd.grad(out, wanted, grad, allow_unused=True, materialize_grads=True)
        own += flat(list(found[: len(self.parameters)]))
        return grad if rows is None else found[-1]


def by_part(rows: Tensor, graph: DistributedGraph) -> list[Tensor]:
    """Rows of this process, one tensor per part."""
    return list(torch.split(rows, list(graph.part_sizes)))
