"""Modules of others: what they do wrong is said of them, in one line."""

import sys
from dataclasses import replace

import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded
from elasticgnn.attack import GradientSettings
from elasticgnn.attack.many_graphs import one_by_one, predictor
from elasticgnn.nn import ModelSettings
from elasticgnn.operator.flipped import FlipLists
from elasticgnn.robustness import RobustnessPlan, measure_robustness, read_contestant
from elasticgnn.robustness.foreign import read_foreign
from elasticgnn.robustness.presence import as_presence
from elasticgnn.robustness.routes import uses_graph
from elasticgnn.training import TrainingPlan
from modules_of_others import CLASSES

TASK = planted_task(num_nodes=40, seed=1)
MODULE = f"EDGES = {TASK.graph.num_edges}" + CLASSES


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "of_others.py").write_text(MODULE)
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)")
    (tmp_path / "unfinished.py").write_text("x = (")
    (tmp_path / "divides.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_module:X", "ModuleNotFoundError"),
        ("of_others:Missing", "AttributeError"),
        ("leaves:X", "SystemExit"),
        ("unfinished:X", "SyntaxError"),
        ("divides:X", "ZeroDivisionError"),
        ("../x:y", "TypeError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(module, spec, message):
    with pytest.raises(ValueError, match=f"^defence {spec} must be a class .*, got {message}"):
        read_foreign(spec)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoSizes", r"must be built as \(in, out channels\), got TypeError"),
        ("number", "must be a torch module, got int"),
        ("scripted", "must be a module as it was written, got a scripted one"),
        ("Short", r"must give finite logits \(40, 3\), got \(5, 3\)"),
        ("NotANumber", r"must give finite logits \(40, 3\), got infinite ones or NaN"),
        ("Whole", r"must give finite logits \(40, 3\), got \(40, 3\) of torch.int64"),
        ("Pair", r"must give finite logits \(40, 3\), got tuple"),
        ("Raises", "must take .*, got RuntimeError: out of ideas"),
        ("Leaves", "must take .*, got SystemExit"),
        ("Cached", "must go by the graph it is called with, got the logits of an earlier one"),
        ("Random", "must give the same logits again in eval mode, got others"),
        ("Elsewhere", r"must give finite logits \(40, 3\) on the CPU, got torch.strided on meta"),
        (
            "SparseLogits",
            r"must give finite logits \(40, 3\) on the CPU, got torch.sparse_coo on cpu",
        ),
        ("WritesEdges", "must leave features and edges as they are, got others"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_before_it_is_trained(module, name, message):
    with pytest.raises(ValueError, match=f"^defence of_others:{name} {message}"):
        read_foreign(f"of_others:{name}").untrained(TASK, torch.Generator())


@pytest.mark.parametrize("name", ["InPlace", "WritesData"])
def test_a_module_that_writes_into_the_features_is_refused(module, name):
    task = replace(TASK, features=TASK.features.to_dense())
    before = task.features.clone()
    with pytest.raises(ValueError, match=f"{name} must "):
        read_foreign(f"of_others:{name}").untrained(task, torch.Generator())
    assert torch.equal(task.features, before)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoTraining", "must take .*, got RuntimeError: no training today"),
        ("LeavesTraining", "must take .*, got SystemExit: 0"),
        ("CutOff", "must be trainable by Adam, got RuntimeError"),
        ("NoWeights", "must be trainable by Adam, got ValueError"),
        ("KeepsTrainingGraph", "must answer by its state_dict and the graph alone, got other"),
    ],
)
def test_what_goes_wrong_in_training_is_said_of_the_module(module, name, message):
    with pytest.raises(ValueError, match=f"^defence of_others:{name} {message}"):
        read_foreign(f"of_others:{name}").train(
            TASK, planted_split(TASK), TrainingPlan(epochs=2), 0
        )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoOtherGraph", "must take .*, got IndexError: too many edges"),
        ("LosesNumbers", r"must give finite logits \(40, 3\), got infinite ones or NaN"),
    ],
)
def test_what_goes_wrong_on_an_attacked_graph_is_said_of_the_module(module, name, message):
    plan = RobustnessPlan(
        (read_foreign(f"of_others:{name}"),),
        attacks=("random",),
        rates=(0.1,),
        seeds=(0,),
        training=TrainingPlan(epochs=2),
    )
    with pytest.raises(ValueError, match=f"^defence of_others:{name} {message}"):
        measure_robustness(TASK, plan)


@pytest.mark.parametrize("protocol", ["evasion", "poisoning", "local"])
def test_what_goes_wrong_in_its_gradient_is_said_of_the_module(module, protocol):
    plan = RobustnessPlan(
        (read_foreign("of_others:BadBackward"),),
        rates=(0.1,),
        seeds=(0,),
        protocol=protocol,
        training=TrainingPlan(epochs=2),
        gradient=GradientSettings(block_size=100, epochs=3, fresh_epochs=2),
        targets=2,
    )
    with pytest.raises(ValueError, match="BadBackward must hand back its gradient, got Runtime"):
        measure_robustness(TASK, plan)


def test_a_module_made_from_one_without_edges_is_attacked_all_the_same(module):
    assert uses_graph(read_foreign("of_others:FromMLP").untrained(TASK, torch.Generator()))
    assert not uses_graph(read_contestant("mlp", ModelSettings()).untrained(TASK, seeded(0)))


@pytest.mark.parametrize("name", ["FromGCN", "FromDefence"])
def test_a_module_made_from_ours_is_judged_by_its_own_forward(module, name):
    model = read_foreign(f"of_others:{name}").untrained(TASK, seeded(0)).eval()
    flips = FlipLists(torch.tensor([[0, 1], [2, 3]], dtype=torch.int32), torch.tensor([0, 0, 2]))
    expected = one_by_one(model, TASK, flips)
    assert torch.equal(predictor(model, TASK)(flips), expected)


def test_what_a_module_prints_is_kept_out_of_the_answer(module, capsys):
    read_foreign("of_others:Talks").train(TASK, planted_split(TASK), TrainingPlan(epochs=2), 0)
    printed = capsys.readouterr()
    assert "hello" in printed.err
    assert not printed.out


def test_weights_that_are_drawn_at_the_first_call_are_no_earlier_graph(module):
    read_foreign("of_others:Lazy").untrained(TASK, torch.Generator())


def test_a_gradient_without_any_number_is_no_gradient(module):
    plan = RobustnessPlan(
        (read_foreign("of_others:Steep"),),
        rates=(0.1,),
        seeds=(0,),
        training=TrainingPlan(epochs=2),
        gradient=GradientSettings(block_size=100, epochs=3, fresh_epochs=2),
    )
    said = []
    rows = measure_robustness(TASK, plan, say=said.append).rows()
    assert "of_others:Steep hands back no gradient" in said[-1]
    assert [row.accuracy for row in rows if row.rate > 0] == [{}]


def test_a_module_without_a_gradient_of_the_features_is_attacked_by_those_of_others(module):
    plan = RobustnessPlan(
        (read_foreign("of_others:NoFeatureGradient"), read_contestant("mlp", ModelSettings())),
        attacks=("features",),
        rates=(0.1,),
        seeds=(0,),
        training=TrainingPlan(epochs=2),
    )
    said = []
    *_, none, other = measure_robustness(as_presence(TASK), plan, say=said.append).rows()
    assert none.accuracy == {}
    assert set(other.accuracy) == {"of_others:NoFeatureGradient", "mlp"}
    assert "hands back no gradient of the features" in said[-2]
    assert "eva" not in said[-2]


def test_weights_that_training_has_lost_are_noticed(module):
    with pytest.raises(ValueError, match="Diverges must keep finite weights, got others in linear"):
        read_foreign("of_others:Diverges").train(
            TASK, planted_split(TASK), TrainingPlan(epochs=2), 0
        )


def test_a_module_that_fits_is_trained(module):
    plan = TrainingPlan(epochs=2)
    model = read_foreign("of_others:Good").train(TASK, planted_split(TASK), plan, 0)
    assert not model.training


def test_a_module_that_changed_has_rows_of_its_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path, digests = tmp_path / "changing_defence.py", []
    for text in (MODULE, MODULE.replace("self.linear(x)", "2 * self.linear(x)")):
        path.write_text(text)
        monkeypatch.delitem(sys.modules, "changing_defence", raising=False)
        plan = RobustnessPlan((read_foreign("changing_defence:Good"),))
        digests.append(plan.digest(TASK))
    assert digests[0] != digests[1]
