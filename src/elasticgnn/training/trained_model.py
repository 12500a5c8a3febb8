"""A trained model with everything needed to use it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from elasticgnn.data import NodeTask
from elasticgnn.data.own.stand_ins import structural_features
from elasticgnn.nn import ModelSettings
from elasticgnn.training.prediction import Prediction, predict

STAND_INS = "stand-ins"  # in the notes of tasks that were read without features


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model, its settings, and what it was trained on.

    data: fingerprint and name of the task; nodes: its node ids when features are stand-ins made
    from the graph, which are of use on these nodes only; facts: accuracy, seed, split, versions.
    """

    model: nn.Module
    settings: ModelSettings
    class_names: tuple[str, ...]
    num_features: int
    data: dict[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def predict(self, task: NodeTask) -> Prediction:
        """What the model says of the task's nodes; the task must have the features it knows."""
        if self.nodes is not None:
            return self._predict_by_id(task, self.nodes)
        if task.num_features != self.num_features:
            raise ValueError(
                f"features must have the {self.num_features} columns the model was trained on, "
                f"got {task.num_features}"
            )
        return predict(self.model, task.features, task.graph)

    def _predict_by_id(self, task: NodeTask, nodes: tuple[str, ...]) -> Prediction:
        """The prediction of a model that has no features, only its nodes, in the task's order."""
        names = node_names(task)
        strange, missing = sorted(set(names) - set(nodes)), sorted(set(nodes) - set(names))
        if strange or missing:
            found = repr(strange[0]) if strange else f"none called {missing[0]!r}"
            raise ValueError(
                "edges must name the nodes the model was trained on "
                f"(it knows no features, only these nodes), got {found}"
            )
        place = {name: number for number, name in enumerate(names)}
        order = torch.tensor([place[name] for name in nodes])
        graph = task.graph.permute(order)
        said = predict(self.model, structural_features(graph), graph)
        back = order.argsort()
        return Prediction(said.probability[back], said.moved[back])

    def save(self, path: str | Path) -> None:
        """Writes one safetensors file, complete or not at all."""
        from elasticgnn.training.model_file import save_model

        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> TrainedModel:
        """The model of a file written by `save`."""
        from elasticgnn.training.model_file import load_model

        return load_model(Path(path))


def trained_on(
    task: NodeTask,
    model: nn.Module,
    settings: ModelSettings,
    facts: dict[str, Any] | None = None,
) -> TrainedModel:
    """`model` with what a file must say of the task it was trained on."""
    from_graph = any(STAND_INS in note for note in task.notes)
    return TrainedModel(
        model,
        settings,
        task.class_names,
        task.num_features,
        {"name": task.name, "fingerprint": task.fingerprint},
        node_names(task) if from_graph else None,
        facts or {},
    )


def node_names(task: NodeTask) -> tuple[str, ...]:
    """The ids of all nodes as text; their numbers when they have no ids."""
    ids = range(task.num_nodes) if task.node_ids is None else task.node_ids
    return tuple(str(name) for name in ids)
