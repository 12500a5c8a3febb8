"""One table for features, labels and splits; and options without effect."""

import pytest

from command_calls import run
from elasticgnn.cli.predict import interval_words, too_few
from elasticgnn.data import read_task
from elasticgnn.data.own.layout import TableLayout
from elasticgnn.training import TrainedModel

TRAIN = ("--splits", 1, "--epochs", 2)


@pytest.fixture(params=[1, 40], ids=["small", "quick reader"])
def folder(request, tmp_path):
    """Thirty nodes in a table that also has their verdict, a day and a part.

    With 40 more columns of long numbers the file is large enough for the quick reader.
    """
    names = [f"n{k}" for k in range(30 * request.param)]
    count, wide = len(names), request.param > 1
    edges = [f"{names[k]},{names[(k + 2) % count]}" for k in range(count)]
    (tmp_path / "e.csv").write_text("\n".join(["source,target", *edges]))
    extra = "".join(f",x{k}" for k in range(40)) if wide else ""
    rows = [
        f"{name},{k % 2},{k},{'xy'[k % 2]},2024-01-{1 + k % 28:02},{('train', 'test')[k % 3 > 1]}"
        + (f",{k}.123456" * 40 if wide else "")
        for k, name in enumerate(names)
    ]
    (tmp_path / "t.csv").write_text("\n".join([f"id,a,b,Verdict,day,part{extra}", *rows]))
    return tmp_path


def files(folder):
    table = folder / "t.csv"
    return ("--edges", folder / "e.csv", "--features", table, "--labels", table)


def test_columns_named_for_labels_and_splits_are_no_features(folder):
    layout = TableLayout(label="verdict", further=("day", "part"))
    task = read_task(folder / "e.csv", folder / "t.csv", folder / "t.csv", layout=layout)
    assert [name for name in task.feature_names if not name.startswith("x")] == ["a", "b"]
    assert task.class_names == ("x", "y")
    assert task.label_columns["day"][1] == "2024-01-02"


def test_a_model_reads_only_the_columns_it_knows(folder, capsys):
    """A column of dates, refused as a feature, is none of the model's."""
    layout = TableLayout(features=("b", "a"))
    task = read_task(folder / "e.csv", folder / "t.csv", layout=layout)
    assert task.feature_names == ("a", "b")
    assert "columns the model does not know are left out: Verdict, day, part" in task.notes[0]
    nothing = TableLayout(features=("c",))
    with pytest.raises(ValueError, match="column 'day': a date must be given as a number"):
        read_task(folder / "e.csv", folder / "t.csv", layout=nothing)


def test_the_same_table_trains_and_is_asked_about(folder, capsys):
    model, split = folder / "m.st", ("--label", "verdict", "--time", "day")
    assert run("train", *files(folder), *split, *TRAIN, "--split-column", "part") == 2
    assert run("train", *files(folder), *split, *TRAIN, "-o", model) == 0
    answer = ("--features", folder / "t.csv", "-o", folder / "out.csv")
    assert run("predict", model, folder / "e.csv", *answer) == 0
    printed = capsys.readouterr()
    assert "does not know are left out: Verdict, day" in printed.out + printed.err


def test_the_columns_of_a_model_have_a_category_once():
    kept = {"feature_names": ("a", "town=x", "town=y", "b"), "categories": ("town",)}
    parts = {"model": None, "settings": None, "class_names": (), "num_features": 4, "data": {}}
    assert TrainedModel(**parts, **kept).feature_columns == ("a", "b", "town")
    assert TrainedModel(**parts, **kept, nodes=("n0",)).feature_columns is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "cora", "--id", "a"], "must go with own files, got 'cora'"),
        (["train", "cora", "--checkpoint-every", 2], "--checkpoint-every must be given with"),
        (["predict", "m.st", "cora", "--features", "t.csv"], "must come with a file of edges"),
        (["explain", "m.st", "cora", "n1", "--label", "a"], "must go with own files, got 'cora'"),
        (["inspect", "m.st", "cora", "--labels", "t.csv"], "must come with a file of edges"),
        (["report", "m.st", "cora", "--encoding", "utf-8"], "must go with own files, got 'cora'"),
    ],
)
def test_options_without_effect_are_refused(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = "\n".join(f"n{k},n{(k + 2) % 30}" for k in range(30))
    (tmp_path / "e.csv").write_text("source,target\n" + pairs)
    rows = "\n".join(f"n{k},{k % 2},{'xy'[k % 2]}" for k in range(30))
    (tmp_path / "t.csv").write_text("id,a,label\n" + rows)
    if words[0] != "train":
        assert run("train", *files(tmp_path), *TRAIN, "-o", "m.st") == 0
    capsys.readouterr()
    assert run(*words) == 2
    assert message in capsys.readouterr().err


def test_class_weights_are_refused_for_numbers(tmp_path, capsys):
    pairs = "\n".join(f"n{k},n{(k + 1) % 30}" for k in range(30))
    (tmp_path / "e.csv").write_text("source,target\n" + pairs)
    rows = "\n".join(f"n{k},{k}.5,{k}.25" for k in range(30))
    (tmp_path / "t.csv").write_text("id,a,label\n" + rows)
    words = ("--target", "number", "--class-weights", "balanced", "--minutes", 0.01)
    assert run("train", *files(tmp_path), *words) == 2
    assert "--class-weights must go with classes" in capsys.readouterr().err


def test_more_than_the_nodes_held_out_can_tell_is_said():
    scores = [0.1 * k for k in range(99)]
    assert too_few(scores, 0.99) == ""
    assert too_few(scores, 0.995) == "since 99 nodes held out vouch for at most 99 %"
    board = {"estimate": {"nodes": 50}, "coverage": 0.88, "coverage_range": (0.8, 0.98)}
    parts = {"model": None, "settings": None, "class_names": (), "num_features": 1, "data": {}}
    model = TrainedModel(**parts, facts={"conformal": scores, "leaderboard": board})
    assert interval_words(model, 0.5) == (
        "intervals for 50 %: 4.9 to either side; intervals for 90 % held the number of 88.0 % of "
        "50 nodes kept away (by chance 80.0 to 98.0)"
    )
    assert "without end, since 99 nodes" in interval_words(model, 0.999)
