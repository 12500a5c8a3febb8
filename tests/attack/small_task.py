"""A planted-partition task small enough for dense reference computations."""

import torch

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.training import TrainingPlan, fit, make_model


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def planted_task(
    num_nodes: int = 60, num_classes: int = 3, num_features: int = 30, seed: int = 0
) -> NodeTask:
    """Classes of equal size, edges mostly within, words mostly of the own class; no lone node."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(num_nodes) % num_classes
    tail, head = torch.triu_indices(num_nodes, num_nodes, 1)
    same = labels[tail] == labels[head]
    chance = torch.where(same, 3.6, 0.4) * num_classes / num_nodes
    joined = torch.rand(len(tail), generator=generator) < chance
    joined |= head == tail + num_classes
    edges = torch.stack((tail[joined], head[joined]))
    own = torch.arange(num_features) % num_classes == labels[:, None]
    words = torch.rand(num_nodes, num_features, generator=generator) < torch.where(own, 0.25, 0.05)
    return NodeTask(
        name="planted",
        graph=Graph.from_edge_index(edges, num_nodes, undirected=True),
        features=SparseFeatures.from_dense(words.float()),
        labels=labels,
        class_names=tuple(f"class {k}" for k in range(num_classes)),
    )


def planted_split(task: NodeTask) -> Split:
    """The first fifth for training, the next fifth for validation, the rest for testing."""
    fifth = task.num_nodes // 5
    every = torch.arange(task.num_nodes)
    return Split(every[:fifth], every[fifth : 2 * fifth], every[2 * fifth :])


def trained_models(task: NodeTask, names: tuple[str, ...]) -> dict[str, torch.nn.Module]:
    """One model of each kind after 60 epochs on the planted split."""
    models = {name: make_model(name, task, seeded(0)) for name in names}
    for model in models.values():
        fit(model, task, planted_split(task), TrainingPlan(epochs=60), seeded(1))
    return models


def write_planted(folder, *, scale=1):
    """The planted task as edge, feature and label files; its features in a unit `scale` smaller."""
    task = planted_task()
    dense = scale * task.features.to_dense()
    edges = zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True)
    rows = ["source,target", *(f"n{i},n{j}" for i, j in edges)]
    (folder / "edges.csv").write_text("\n".join(rows) + "\n")
    names = ",".join(f"w{k}" for k in range(dense.shape[1]))
    rows = [f"n{i}," + ",".join(f"{x:g}" for x in row) for i, row in enumerate(dense.tolist())]
    (folder / "features.csv").write_text("\n".join([f"node,{names}", *rows]) + "\n")
    rows = [f"n{i},c{k}" for i, k in enumerate(task.labels.tolist())]
    (folder / "labels.csv").write_text("\n".join(["node,label", *rows]) + "\n")
    return folder


def own_options(folder):
    """The options that name the files of `write_planted`."""
    return [f"--{name}={folder}/{name}.csv" for name in ("edges", "features", "labels")]
