"""`train` beside what an interrupted comparison left behind: goes on with it, or refuses it."""

import pytest

from command_calls import run
from elasticgnn.cli.train_tuned import TuneRequest, metric_going_on
from elasticgnn.data import read_task
from elasticgnn.data.own.layout import TableLayout
from elasticgnn.training import Splitting
from elasticgnn.training.tuning.outcome_file import OutcomeFile
from elasticgnn.training.tuning.tune import planned

EDGES = "source,target,weight\n" + "".join(f"n{k},n{(k + 1) % 40},1\n" for k in range(40))
FEATURES = "id,x\n" + "".join(f"n{k},{k % 7}\n" for k in range(40))
LABELS = "id,label,family,part\n" + "".join(
    f"n{k},{'ab'[k % 4 == 0]},{k % 10},{'test' if k % 4 == 1 else 'train'}\n" for k in range(40)
)
NOTE = "goes on with what was measured before"


@pytest.fixture
def files(tmp_path):
    for name, text in (("edges", EDGES), ("features", FEATURES), ("labels", LABELS)):
        (tmp_path / f"{name}.csv").write_text(text)
    return {name: tmp_path / f"{name}.csv" for name in ("edges", "features", "labels")}


def train(files, folder, *more):
    """With what a comparison of the usual options left behind."""
    asked = ("--minutes", 0.001, *more, "-o", folder / "m.safetensors")
    return run("train", *(w for n, path in files.items() for w in (f"--{n}", path)), *asked)


def leave_behind(files, folder):
    plan = planned(read_task(**files), "auto", 0, Splitting(), balanced=False)
    OutcomeFile(folder / "m.safetensors.tuning", plan.key).add([])


@pytest.mark.parametrize("more", [(), ("--minutes", 0.002)])
def test_the_same_comparison_goes_on_whatever_its_time(files, tmp_path, capsys, more):
    leave_behind(files, tmp_path)
    assert train(files, tmp_path, *more) == 0
    assert NOTE in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "old", "new", "more"),
    [
        ("features", "n3,3", "n3,4", ()),
        ("features", "id,x\nn0,0", "id,x\nn0,", ()),
        ("edges", "n3,n4,1", "n3,n4,2", ()),
        ("edges", "n3,n4,1", "n3,n9,1", ()),
        ("labels", "n3,a", "n3,b", ()),
        ("labels", "n3,a", "n3,", ()),
        ("edges", "", "", ("--metric", "accuracy")),
        ("edges", "", "", ("--metric", "f1")),
        ("edges", "", "", ("--folds", 3)),
        ("edges", "", "", ("--seed", 1)),
        ("edges", "", "", ("--groups", "family")),
        ("edges", "", "", ("--split-column", "part")),
        ("edges", "", "", ("--class-weights", "balanced")),
    ],
)
def test_another_one_is_refused_and_nothing_else_is_said(
    files, tmp_path, capsys, file, old, new, more
):
    leave_behind(files, tmp_path)
    files[file].write_text(files[file].read_text().replace(old, new, 1))
    assert train(files, tmp_path, *more) == 2
    printed = capsys.readouterr()
    assert "a comparison of other data or settings (delete it)" in printed.err
    assert NOTE not in printed.err + printed.out


def test_the_metric_that_is_shown_is_the_one_that_is_compared_by(files, tmp_path):
    """The test nodes are all of class a, so that auto leaves AUC for log loss."""
    task = read_task(**files, layout=TableLayout(further=("part",)))
    for splitting, metric in ((Splitting(), "auc"), (Splitting(parts="part"), "logloss")):
        assert metric_going_on(task, TuneRequest(1.0, "auto", 0, splitting), None) == metric
