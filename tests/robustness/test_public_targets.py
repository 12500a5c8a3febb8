"""The published targets: of the right graph, degrees and splits, and what a comparison attacks."""

import pytest
import torch

from attack.small_task import planted_task
from elasticgnn.attack import GradientSettings
from elasticgnn.data import load
from elasticgnn.nn import ModelSettings
from elasticgnn.robustness import RobustnessPlan, measure_robustness, read_contestant
from elasticgnn.robustness.plan import DEGREES
from elasticgnn.robustness.public_targets import public_targets, published
from elasticgnn.training import TrainingPlan


def test_every_published_split_has_twenty_test_nodes_of_each_class():
    assert [one["data"] for one in published()] == ["citeseer-meta-0", "cora-meta-0"]
    for row in (row for one in published() for row in one["splits"]):
        known = {*row["train"], *row["val"]}
        assert len(known) == len(row["train"]) + len(row["val"])
        assert [len(set(nodes)) for nodes in row["targets"].values()] == [20] * len(DEGREES)
        assert not known & {node for nodes in row["targets"].values() for node in nodes}


@pytest.mark.parametrize("name", ["cora-meta-0", "citeseer-meta-0"])
def test_targets_have_the_degrees_of_their_class_and_splits_are_those_of_scikit_learn(
    name, data_root
):
    from sklearn.model_selection import train_test_split

    task = load(name, root=data_root)
    degree = torch.bincount(torch.cat((task.graph.tail, task.graph.head)))
    (mine,) = (one for one in published() if one["data"] == name)
    for number, row in enumerate(mine["splits"]):
        found = public_targets(task, number)
        for (low, high), nodes in zip(DEGREES, found.nodes.split(20), strict=True):
            assert low <= degree[nodes].min()
            assert degree[nodes].max() <= high
        nodes, state = list(range(task.num_nodes)), row["random_state"]
        known, test = train_test_split(
            nodes, train_size=0.2, stratify=task.labels, random_state=state
        )
        train, _ = train_test_split(
            known, train_size=0.5, stratify=task.labels[known], random_state=state
        )
        assert found.split.train.tolist() == sorted(train)
        assert found.split.test.tolist() == sorted(test)
        assert torch.isin(found.nodes, found.split.test).all()


def test_a_comparison_attacks_the_published_targets_on_their_split(data_root, monkeypatch):
    from elasticgnn.robustness import run

    task, attacked = load("cora-meta-0", root=data_root), []

    def attack_targets(task, nodes, *rest):
        attacked.append(nodes)
        return 0.5, 7

    monkeypatch.setattr(run, "attack_targets", attack_targets)
    few = GradientSettings(block_size=200, epochs=2, fresh_epochs=1)
    models = (read_contestant("gcn", ModelSettings()),)
    plan = RobustnessPlan(
        models, rates=(0.5,), seeds=(1,), protocol="local", public_targets=True,
        training=TrainingPlan(epochs=5), gradient=few,
    )  # fmt: skip
    rows = list(measure_robustness(task, plan).rows())
    expected = public_targets(task, 1)
    assert [nodes.tolist() for nodes in attacked] == [expected.nodes.tolist()]
    clean = next(row for row in rows if row.rate == 0).accuracy["gcn"]
    right = clean * 120  # the clean accuracy is that of the 120 targets too
    assert right == pytest.approx(round(right))
    assert plan.digest(task) != RobustnessPlan(models, protocol="local").digest(task)


def test_another_graph_is_refused():
    with pytest.raises(ValueError, match=r"public targets must be used on one of .*cora-meta-0"):
        public_targets(planted_task(), 0)


def test_a_sixth_split_is_refused(data_root):
    with pytest.raises(ValueError, match="seed must be 0 to 4 for public targets, got 5"):
        public_targets(load("cora-meta-0", root=data_root), 5)


def test_public_targets_are_for_local_attacks_alone():
    models = (read_contestant("gcn", ModelSettings()),)
    with pytest.raises(ValueError, match="protocol must be 'local' for public targets"):
        RobustnessPlan(models, public_targets=True)
