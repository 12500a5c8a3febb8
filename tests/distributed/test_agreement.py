"""Processes that do not have the same are told so; groups may be any processes."""

import pytest
import torch

from distributed_work import STEPS, division, rows_of, small_graph, small_task
from elasticgnn import ElasticPenalty
from elasticgnn.cli.__main__ import main
from elasticgnn.data import NodeTask
from elasticgnn.distributed import (
    DistributedGraph,
    PartitionFolder,
    elastic_message_passing,
    fit_parts,
    write_partition,
)
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan
from processes import run_together


def test_another_graph_folder_setting_or_seed_in_a_process_is_refused_by_all(tmp_path):
    for rank, count in enumerate((4, 3)):
        write_partition(small_task(), tmp_path / f"parts{rank}", parts=count)
    for differing in run_together("apart", 2, tmp_path / "group"):
        assert list(differing) == ["graph", "folder", "settings", "seed"]
        for what in differing.values():
            assert "must be the same in every process, got another one in process 1 of 2" in what


@pytest.mark.parametrize("shared", ["0", "1"])
def test_a_group_without_the_first_process_gives_the_same_bits(tmp_path, shared):
    graph = small_graph()
    held = DistributedGraph.from_graph(graph, division(graph, "blocks"))
    x = rows_of(graph.num_nodes, 5, 0)[held.nodes].requires_grad_()
    lambdas = torch.tensor([0.3, 2.0]).double().requires_grad_()
    signal = elastic_message_passing(x, held, ElasticPenalty(lambdas[0], lambdas[1]), STEPS)
    dx, dl = torch.autograd.grad(signal.sum(), (x, lambdas))
    spot = held.nodes.argsort()
    _, *others = run_together("in_a_subgroup", 3, tmp_path, ELASTICGNN_SHARED_MEMORY=shared)
    for found in others:
        mine = spot[found["nodes"]]
        assert torch.equal(found["signal"], signal.detach()[mine])
        assert torch.equal(found["dx"], dx[mine])
        assert torch.equal(found["lambdas"], dl)


@pytest.mark.parametrize(
    ("plan", "rule"),
    [
        (TrainingPlan(balanced=True), "balanced must be off on a partition"),
        (TrainingPlan(max_seconds=1.0), "max_seconds must be None on a partition"),
    ],
)
def test_plans_that_would_be_ignored_are_refused(parts, plan, rule):
    with pytest.raises(ValueError, match=rule):
        fit_parts(PartitionFolder(parts), ModelSettings("mlp", 4), plan)


def test_numbers_to_predict_are_not_partitioned_as_classes(tmp_path):
    task, values = small_task(), torch.rand(46).double()
    numbers = NodeTask("numbers", task.graph, task.features, task.labels * 0 - 1, (), values=values)
    with pytest.raises(ValueError, match="labels must be classes for a partition, got numbers"):
        write_partition(numbers, tmp_path / "parts", parts=2)


@pytest.mark.parametrize(
    "option", [["--splits", "3"], ["--class-weights", "balanced"], ["--tune", "off"]]
)
def test_options_that_would_have_no_effect_on_a_folder_are_refused(parts, capsys, option):
    with pytest.raises(SystemExit) as end:
        main(["train", str(parts), "--epochs", "1", *option])
    assert end.value.code == 2
    assert f"{option[0]} must be left out for a partition folder" in capsys.readouterr().err


def test_a_checkpoint_and_several_processes_need_a_folder(capsys, monkeypatch, tmp_path):
    state = str(tmp_path / "state")
    with pytest.raises(SystemExit) as end:
        main(["train", "cora", "--epochs", "1", "--splits", "1", "--checkpoint", state])
    assert end.value.code == 2
    assert "--checkpoint must be given with a partition folder" in capsys.readouterr().err
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit) as end:
        main(["train", "cora", "--epochs", "1", "--splits", "1"])
    assert end.value.code == 2
    assert "data must be a partition folder for several processes" in capsys.readouterr().err


def test_all_options_of_the_usual_training_are_taken(parts, tmp_path):
    strengths = ["--lambda1", "1", "--lambda2", "1", "--norm", "l1", "--steps", "2"]
    rates = ["--dropout", "0", "--learning-rate", "0.1", "--weight-decay", "0", "--patience", "2"]
    with pytest.raises(SystemExit) as end:
        main(["train", str(parts), "--epochs", "2", "--seed", "1", *strengths, *rates, "--json"])
    assert not end.value.code
