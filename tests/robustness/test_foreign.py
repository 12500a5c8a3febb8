"""Modules of others: what they do wrong is said of them, in one line."""

import sys

import pytest
import torch

from attack.small_task import planted_split, planted_task
from elasticgnn.robustness import RobustnessPlan
from elasticgnn.robustness.foreign import read_foreign
from elasticgnn.training import TrainingPlan

MODULE = """
import torch
from torch import nn

class Good(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, graph):
        return self.linear(x)

class Short(Good):
    def forward(self, x, graph):
        return self.linear(x)[:5]

class NotANumber(Good):
    def forward(self, x, graph):
        return self.linear(x) * float("nan")

class Whole(Good):
    def forward(self, x, graph):
        return self.linear(x).long()

class Pair(Good):
    def forward(self, x, graph):
        return self.linear(x), None

class Raises(Good):
    def forward(self, x, graph):
        raise RuntimeError("out of ideas")

class Leaves(Good):
    def forward(self, x, graph):
        raise SystemExit(0)

class Diverges(Good):
    def forward(self, x, graph):
        return self.linear(x) if not self.training else self.linear(x) * float("inf")

class NoSizes(nn.Module):
    def __init__(self):
        super().__init__()

def number(inputs, outputs):
    return 3
"""
TASK = planted_task(num_nodes=40, seed=1)


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
        ("Short", r"must give finite logits \(40, 3\), got \(5, 3\)"),
        ("NotANumber", r"must give finite logits \(40, 3\), got infinite ones or NaN"),
        ("Whole", r"must give finite logits \(40, 3\), got \(40, 3\) of torch.int64"),
        ("Pair", r"must give finite logits \(40, 3\), got tuple"),
        ("Raises", "must take .*, got RuntimeError: out of ideas"),
        ("Leaves", "must take .*, got SystemExit"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_before_it_is_trained(module, name, message):
    with pytest.raises(ValueError, match=f"^defence of_others:{name} {message}"):
        read_foreign(f"of_others:{name}").untrained(TASK, torch.Generator())


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
